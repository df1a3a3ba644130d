// The page in Firefox, where a machine without a graphics card has no WebGL: it opens from the disk,
// shows pictures and says in a sentence why they do not turn. Speaks Firefox's own protocol,
// Marionette, because nothing else drives the Firefox of a distribution.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { makeWorkspace, ring } from "./workspace.mjs";

const FIREFOX = "/usr/bin/firefox-esr";
const has = () => {
  try {
    return Boolean(execFileSync(FIREFOX, ["--version"]));
  } catch {
    return false;
  }
};
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Starts Firefox and returns a function that sends it commands. */
async function start(profile) {
  // It chooses a free port and notes it in its profile.
  writeFileSync(join(profile, "user.js"), ["marionette.port", 0, "webgl.disabled", true, "network.proxy.type", 1,
    "network.proxy.http", '"127.0.0.1"', "network.proxy.http_port", 9, "network.proxy.ssl", '"127.0.0.1"', "network.proxy.ssl_port", 9]
    .reduce((text, word, at, all) => (at % 2 ? text : `${text}user_pref("${word}", ${all[at + 1]});\n`), ""));
  const browser = spawn(FIREFOX, ["--headless", "--marionette", "--no-remote", "--profile", profile], { stdio: "ignore" });
  const port = async () => {
    for (let tries = 0; tries < 600; tries += 1) {
      try {
        return Number(readFileSync(join(profile, "MarionetteActivePort"), "utf8"));
      } catch {
        await pause(100);
      }
    }
    throw new Error("Firefox does not answer");
  };
  const socket = connect(await port(), "127.0.0.1");
  let received = Buffer.alloc(0);
  const waiting = [];
  socket.on("data", (bytes) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const colon = received.indexOf(":");
      const length = Number(received.subarray(0, Math.max(0, colon)).toString());
      if (colon < 0 || received.length < colon + 1 + length) return;
      waiting.shift()?.(JSON.parse(received.subarray(colon + 1, colon + 1 + length)));
      received = received.subarray(colon + 1 + length);
    }
  });
  const answer = () => new Promise((done) => waiting.push(done));
  await answer();
  const send = async (name, parameters) => {
    const text = JSON.stringify([0, 1, name, parameters]);
    const answered = answer();
    socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [, , error, result] = await answered;
    assert.equal(error, null, JSON.stringify(error));
    return result;
  };
  return { send, end: () => { socket.destroy(); browser.kill(); return new Promise((done) => browser.on("exit", done)); } };
}

test("the page opens in Firefox without WebGL", { skip: !has() && "firefox-esr is not installed" }, async () => {
  const place = mkdtempSync(join(tmpdir(), "archi3d-firefox-"));
  const profile = mkdtempSync(join(tmpdir(), "archi3d-profile-"));
  const workspace = join(place, "work");
  const run = makeWorkspace(process.env.ARCHI3D, workspace, {
    items: [{ id: "1", name: "Chair", category: "Chairs", truth: ring() }], algos: ["alpha"], adapters: "adapters:\n  alpha: {kind: mock, unit_price_usd: 0.42}\n",
  });
  run("report", "build", "r1");
  const firefox = await start(profile);
  try {
    await firefox.send("WebDriver:NewSession", {});
    const address = pathToFileURL(join(workspace, "reports", "r1", "index.html")).href;
    const until = async (script, wanted) => {
      let seen = "";
      for (let tries = 0; tries < 200; tries += 1) {
        seen = String((await firefox.send("WebDriver:ExecuteScript", { script, args: [] })).value);
        if (wanted.test(seen)) return;
        await pause(50);
      }
      assert.match(seen, wanted);
    };
    const text = async (screen, wanted) => {
      await firefox.send("WebDriver:Navigate", { url: `${address}#${screen}` });
      await until("return document.body.innerText", wanted);
    };
    await text("summary", /alpha costs \$0\.42 per model/);
    await text("grid", /\$0\.42/);
    await text("compare", /This browser cannot draw in 3D here \(no WebGL\)/);
    // Its source picture, the real model and the one that was made.
    await until("return [...document.images].filter((one) => one.complete && one.naturalWidth > 0).length", /^3$/);
    await text("judge", /no two models/);
  } finally {
    await firefox.end();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    rmSync(place, { recursive: true, force: true });
  }
});
