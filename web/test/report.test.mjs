// The page of a report in a real browser, opened from the disk: it draws, asks no network for
// anything, and everybody can use it. Needs ARCHI3D (the program) and Debian's Chromium.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const archi3d = process.env.ARCHI3D;
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const place = mkdtempSync(join(tmpdir(), "archi3d-web-"));
const workspace = join(place, "demo");
const run = (...words) => execFileSync(archi3d, words, { cwd: workspace, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
let browser;
let address;

before(async () => {
  execFileSync(archi3d, ["demo", workspace, "--picture-size", "96"], { stdio: "ignore" });
  // Names that would be markup, and a model that is none.
  const table = join(workspace, "tables", "generations.csv");
  const text = readFileSync(table, "utf8").replaceAll("Red kitchen chair", "<img src=x onerror=alert(1)>");
  writeFileSync(table, text);
  const outputs = join(workspace, "runs", "demo", "outputs");
  const spoilt = readdirSync(outputs).filter((name) => !name.startsWith(".")).sort()[0];
  writeFileSync(join(outputs, spoilt, "generated.glb"), "glTF no more");
  run("report", "build", "demo");
  address = pathToFileURL(join(workspace, "reports", "demo", "index.html")).href;
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"],
  });
});

after(async () => {
  await browser?.close();
  rmSync(place, { recursive: true, force: true });
});

/** Opens a screen; whatever the page complains about or asks of a network fails the test. */
async function open(screen, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options });
  page.complaints = [];
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("dialog", (dialog) => page.complaints.push(`dialog ${dialog.message()}`));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || page.complaints.push(request.url()));
  await page.goto(`${address}#${screen}`);
  await page.waitForSelector("main > *");
  return page;
}

async function done(page) {
  const { complaints } = page;
  await page.close();
  assert.deepEqual(complaints, []);
}

const drawn = (page) => page.waitForFunction(() => {
  const canvases = [...document.querySelectorAll("canvas")].filter((canvas) => !canvas.hidden);
  return canvases.length > 0 && canvases.every((canvas) => canvas.dataset.ready === "true");
}, null, { timeout: 60_000 });

/** How many different colours a canvas shows, and a sum that changes when it does. */
const look = (page) => page.evaluate(() => [...document.querySelectorAll("canvas")].filter((canvas) => !canvas.hidden).map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  let sum = 0;
  for (let at = 0; at < data.length; at += 4) {
    colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    sum = (sum * 31 + data[at] + data[at + 1] * 3 + data[at + 2] * 7) % 1_000_003;
  }
  return { colours: colours.size, sum };
}));

test("every model is drawn and one drag turns all of them", async () => {
  const page = await open("compare?item=100002");
  await drawn(page);
  const before = await look(page);
  assert.ok(before.length >= 2 && before.every((one) => one.colours > 20), JSON.stringify(before));
  const canvas = page.locator("canvas:visible").first();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 100, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 220, box.y + 130, { steps: 4 });
  await page.mouse.up();
  await page.waitForTimeout(600);
  const after = await look(page);
  assert.ok(after.every((one, at) => one.sum !== before[at].sum), JSON.stringify([before, after]));
  for (const mode of ["clay", "normals", "wireframe"]) {
    await page.getByRole("button", { name: mode }).click();
    await page.waitForFunction((wanted) => [...document.querySelectorAll("canvas")].every((one) => one.hidden || one.dataset.drawn === wanted), mode);
  }
  await done(page);
});

test("a model that is none is told in a sentence and the rest is drawn", async () => {
  const page = await open("grid");
  await page.getByText("no picture of this model").first().waitFor();
  assert.ok((await page.locator(".poster img").count()) > 10);
  await done(page);
});

test("names of products are shown, never executed", async () => {
  const page = await open("grid");
  await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
  await done(page);
});

test("filters narrow the grid and stand in the link", async () => {
  const page = await open("grid");
  const all = await page.locator("table.results tbody tr").count();
  await page.getByRole("searchbox").fill("lamp");
  await page.waitForFunction((before) => document.querySelectorAll("table.results tbody tr").length < before, all);
  const again = await open(new URL(page.url()).hash.slice(1));
  assert.equal(await again.locator("table.results tbody tr").count(), await page.locator("table.results tbody tr").count());
  await done(page);
  await done(again);
});

test("votes leave as a file that names both jobs and the side", async () => {
  const page = await open("judge");
  await drawn(page);
  await page.keyboard.press("ArrowLeft");
  await page.getByText("1 vote,").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "judge import" }).click()]);
  const text = readFileSync(await download.path(), "utf8");
  assert.match(text, /^\ufeffvote_id,at,judge,run_id_a,job_a,run_id_b,job_b,item,mode,side_of_a,answer,ms,seed\n/);
  assert.equal(text.trim().split("\n").length, 2);
  await done(page);
});

test("sums on the page are those of cost report", async () => {
  const total = JSON.parse(run("cost", "report", "--run-id", "demo", "--json")).total.billed_usd;
  const page = await open("summary");
  const shown = await page.locator(".headline strong").last().textContent();
  assert.equal(Number(shown.replace(/[$,]/g, "")), total);
  await done(page);
});

for (const scheme of ["light", "dark"]) {
  test(`everybody can use every screen (${scheme})`, async () => {
    for (const screen of ["summary", "grid", "compare?item=100002", "failures", "judge", "about"]) {
      // The checker itself is a script from elsewhere, which the page's policy would refuse.
      const page = await browser.newPage({ viewport: { width: scheme === "light" ? 1400 : 400, height: 900 }, colorScheme: scheme, bypassCSP: true });
      await page.goto(`${address}#${screen}`);
      await page.waitForSelector("main > *");
      await page.addScriptTag({ path: axe });
      const found = await page.evaluate(async () =>
        (await window.axe.run(document, { preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }))
          .violations.map((one) => `${one.id}: ${one.nodes[0].html}`));
      assert.deepEqual(found, [], screen);
      await page.close();
    }
  });
}
