// A real Chromium that opens pages from the disk and tells everything they complain about.

import assert from "node:assert/strict";

import { chromium } from "playwright-core";

const QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"];

const options = (args) => ({
  executablePath: "/usr/bin/chromium",
  args: [...QUIET, ...(args.length > 0 ? args : ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"])],
});

export const launch = (...args) => chromium.launch(options(args));

/** A browser whose process is known. */
export async function serve() {
  const server = await chromium.launchServer(options([]));
  const browser = await chromium.connect(server.wsEndpoint());
  return { browser, pid: server.process().pid, close: () => server.close() };
}

/** Opens an address; whatever the page complains about or asks of a network fails the test in `done`. */
export async function open(browser, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options });
  page.complaints = [];
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("dialog", (dialog) => page.complaints.push(`dialog ${dialog.message()}`));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || page.complaints.push(request.url()));
  await page.addInitScript(() => {
    // Keeps hold of the viewer, so that a test can ask what it holds.
    let made;
    Object.defineProperty(window, "archi3dViewer", {
      get: () => made,
      set: (api) => { made = { create: (script) => (window.viewerOfTest = api.create(script)) }; },
    });
  });
  await page.goto(address);
  await page.waitForSelector("main > *");
  return page;
}

export async function done(page) {
  const { complaints } = page;
  await page.close();
  assert.deepEqual(complaints, []);
}

/** Waits until every canvas is drawn. */
export const drawn = (page) => page.waitForFunction(() => {
  const canvases = [...document.querySelectorAll("canvas")].filter((canvas) => !canvas.hidden);
  return canvases.length > 0 && canvases.every((canvas) => canvas.dataset.ready === "true");
}, null, { timeout: 60_000 });

/** How many different colours each canvas shows, and a sum that changes when it does. */
export const look = (page) => page.evaluate(() => [...document.querySelectorAll("canvas")].filter((canvas) => !canvas.hidden).map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  let sum = 0;
  for (let at = 0; at < data.length; at += 4) {
    colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    sum = (sum * 31 + data[at] + data[at + 1] * 3 + data[at + 2] * 7) % 1_000_003;
  }
  return { colours: colours.size, sum };
}));
