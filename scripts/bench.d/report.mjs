// Makes a large report and measures it in a real browser; see scripts/bench_report.

import { readFileSync, readdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { drawn, open, serve } from "../../web/test/browser.mjs";
import { editTable, makeWorkspace, ring } from "../../web/test/workspace.mjs";

const ITEMS = 250;
const ALGOS = 8;
/** Different models; the others share their content. */
const DIFFERENT = 200;

const place = mkdtempSync(join(tmpdir(), "archi3d-bench-report-"));
const say = (what, value) => console.log(`${what.padEnd(58)} ${value}`);
const timed = async (what, work) => {
  const from = performance.now();
  const result = await work();
  say(what, `${((performance.now() - from) / 1000).toFixed(2)} s`);
  return result;
};

/** What a process and all that it started hold in memory, in MB. */
function memory(pid) {
  const parents = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [, parent] = readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1].split(" ");
      parents.set(Number(name), Number(parent));
    } catch {
      // It has ended.
    }
  }
  const isOurs = (one) => one === pid || (parents.has(one) && parents.get(one) > 1 && isOurs(parents.get(one)));
  let total = 0;
  for (const one of parents.keys()) {
    if (!isOurs(one)) continue;
    try {
      total += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, "utf8"))[1]);
    } catch {
      // It has ended, too.
    }
  }
  return Math.round(total / 1024);
}

try {
  const algos = Array.from({ length: ALGOS }, (_, at) => `algo_${at + 1}`);
  const workspace = join(place, "work");
  const run = await timed(`making a run of ${ITEMS * ALGOS} jobs`, () => makeWorkspace(process.env.ARCHI3D, workspace, {
    items: Array.from({ length: ITEMS }, (_, at) => ({ id: String(10_000 + at), name: `Product ${at}`, category: ["Chairs", "Tables", "Lamps", "Shelves"][at % 4] })),
    algos,
    adapters: `adapters:\n${algos.map((algo, at) => `  ${algo}: {kind: mock, unit_price_usd: ${0.05 * (at + 1)}, fail_rate: ${at === 3 ? 0.05 : 0}}`).join("\n")}\n`,
  }));
  const models = Array.from({ length: DIFFERENT }, (_, at) => ring({ steps: 60 + at, colour: [0.1 + (at % 7) / 10, 0.2, 0.1 + (at % 5) / 8], stretch: 0.5 + (at % 9) / 4 }));
  editTable(join(workspace, "tables", "generations.csv"), (rows) => rows.forEach((row, at) => {
    if (row.status === "completed") writeFileSync(join(workspace, row.gen_object_path), models[at % DIFFERENT]);
  }));
  const build = () => JSON.parse(run("report", "build", "r1", "--json"));
  const built = await timed(`building the report, ${DIFFERENT} different models`, build);
  await timed("building it again, nothing new", build);
  say("size of the report", `${(built.bytes / 1e6).toFixed(0)} MB, ${built.jobs} jobs`);

  const address = pathToFileURL(built.index).href;
  const { browser, pid, close } = await serve();
  const blank = await browser.newPage();
  await blank.goto("about:blank");
  const before = memory(pid);
  const more = () => `+${memory(pid) - before} MB`;
  const page = await timed("opening the grid, first rows with their pictures", async () => {
    const opened = await open(browser, `${address}#grid`);
    await opened.waitForFunction(() => {
      const row = document.querySelector("tr.row");
      const pictures = [...(row?.querySelectorAll("img") ?? [])];
      return pictures.length > 4 && pictures.every((picture) => picture.complete && picture.naturalWidth > 0);
    });
    return opened;
  });
  say("memory above an empty tab", more());
  /** Times from an action to the next picture on the screen, inside the page. */
  const inside = async (what, action) => {
    const ms = await page.evaluate(async (code) => {
      const from = performance.now();
      new Function(code)();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - from;
    }, action);
    say(what, `${(ms / 1000).toFixed(2)} s`);
  };
  const type = (text) => `const box = document.querySelector("[type=search]"); box.value = "${text}"; box.dispatchEvent(new Event("input", { bubbles: true }));`;
  await inside("searching", type("product 12"));
  await inside("showing everything again", type(""));
  await inside("choosing a category", `[...document.querySelectorAll("label.value")].find((one) => one.textContent.startsWith("Lamps")).querySelector("input").click();`);
  await inside("ordering by disagreement", `const box = document.querySelector("select"); box.value = "disagreement"; box.dispatchEvent(new Event("change", { bubbles: true }));`);
  await page.evaluate(async () => {
    [...document.querySelectorAll("button")].find((one) => one.textContent === "show all").click();
    const box = document.querySelector(".results");
    for (let at = 0; at < 60; at += 1) {
      box.scrollTo(0, (box.scrollHeight * at) / 60);
      await new Promise((done) => setTimeout(done, 60));
    }
  });
  say("rows that exist after scrolling through all of them", String(await page.locator("tr.row").count()));
  say("memory after scrolling", more());
  await timed(`from a click to ${ALGOS} models drawn`, async () => {
    await page.locator("tr.row button.item").first().click();
    await drawn(page);
  });
  say("memory with them", more());
  await timed("20 further items, all models drawn (4 s are pauses)", async () => {
    for (let at = 0; at < 20; at += 1) {
      const was = page.url();
      await page.keyboard.press("n");
      await page.waitForFunction((old) => location.href !== old, was);
      await drawn(page);
      await page.waitForTimeout(200);
    }
  });
  say("memory after them", more());
  await page.getByRole("link", { name: "Summary" }).click();
  await page.waitForFunction(() => window.viewerOfTest.held().cells === 0);
  say("geometries and textures held after leaving", JSON.stringify(await page.evaluate(() => window.viewerOfTest.held())));
  await page.waitForTimeout(3000);
  say("memory after leaving", more());
  say("complaints of the page", String(page.complaints.length));
  await close();
} finally {
  rmSync(place, { recursive: true, force: true });
}
