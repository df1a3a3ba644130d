// The dashboard in a real browser, on a real server with real workers beside it. Needs ARCHI3D (the
// program) and Debian's Chromium.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createInterface } from "node:readline";

import { drawn, launch, look } from "./browser.mjs";
import { fixtures, makeWorkspace } from "./workspace.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const archi3d = process.env.ARCHI3D;
const place = mkdtempSync(join(tmpdir(), "archi3d-board-"));
const workspace = join(place, "work");
const ITEMS = [
  { id: "3001", name: "<img src=x onerror=alert(1)>", category: "Chairs" },
  { id: "3002", name: "Oak chair", category: "Chairs" },
  { id: "3003", name: `Desk lamp ${"x".repeat(120)}`, category: "A category with a long name, lamps for desks and tables" },
  { id: "3004", name: "Stool", category: "Chairs" },
].map((item) => ({ ...item, distinct: true }));

const LONG = "a_very_long_algorithm_that_a_vendor_chose_v2p5_multi_stochastic_large";
const LONG_RUN = `a-run-with-a-long-name-${"x".repeat(60)}`;

let browser;
let run;
let server;
const children = [];

/** Starts a program of the workspace in a process group of its own. */
function begin(...words) {
  const child = spawn(archi3d, words, { cwd: workspace, stdio: ["ignore", "pipe", "ignore"], detached: true });
  children.push(child);
  child.over = new Promise((resolve) => child.on("exit", resolve));
  return child;
}
function kill(child, signal = "SIGKILL") {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It is gone already.
  }
  return child.over;
}

async function serve(...words) {
  const child = begin("serve", "--json", ...words);
  const [line] = await new Promise((resolve) => createInterface({ input: child.stdout }).once("line", (text) => resolve([text])));
  const { url, address, token } = JSON.parse(line);
  return { child, url, address, token, base: `http://${address}/` };
}

before(async () => {
  run = makeWorkspace(archi3d, workspace, {
    items: ITEMS,
    algos: ["alpha", "beta", "gamma"],
    adapters: `adapters:
  alpha: {kind: mock, unit_price_usd: 0.42}
  beta: {kind: mock, unit_price_usd: 0.07}
  gamma: {kind: mock, unit_price_usd: 0.9, fail: "refused: <b>no</b> chairs", fail_class: permanent}
  slow: {kind: mock, unit_price_usd: 0.25, wait_file: gate}
  cheap: {kind: mock, unit_price_usd: 0.07, seed: 1}
  dear: {kind: mock, unit_price_usd: 0.42, seed: 1}
  known: {kind: mock, unit_price_usd: 0.02, seed: 2}
  unpriced: {kind: process, command: [sh, -c, "cat > /dev/null; cp ${fixtures}/models/draco.glb generated.glb"]}
  ${LONG}: {kind: mock, unit_price_usd: 1234.5678, seed: 3, fail: "HTTP 500: ${"without_any_space_".repeat(12)}", fail_class: permanent, breaker_failures: 0}
`,
  });
  run("batch", "create", "--run-id", LONG_RUN, "--algos", `beta,${LONG}`);
  assert.throws(() => run("run", "worker", LONG_RUN, "--yes", "--retries", "0"), { status: 1 });
  run("batch", "create", "--run-id", "many", "--algos", "alpha,beta");
  server = await serve("--listen", "127.0.0.1:0");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await Promise.all(children.map((child) => kill(child)));
  rmSync(place, { recursive: true, force: true });
});

/** Opens a screen, signed in by the address that the server prints unless `options.token` says otherwise. */
async function open(hash, { token = server.token, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  // As on plain http.
  await context.addInitScript(() => delete Crypto.prototype.randomUUID);
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("dialog", (dialog) => page.complaints.push(`dialog ${dialog.message()}`));
  page.on("request", (request) => /^(blob|data):/.test(request.url()) || request.url().startsWith(server.base) || page.complaints.push(request.url()));
  if (token) {
    await page.goto(`${server.base}#token=${token}`);
    await page.waitForSelector("header");
    // Whoever reloads loses this.
    await page.evaluate((wanted) => {
      window.opened = true;
      location.hash = wanted;
    }, hash);
  } else {
    await page.goto(`${server.base}#${hash}`);
    await page.waitForSelector("main > *");
  }
  return page;
}

async function done(page) {
  const { complaints } = page;
  await page.context().close();
  assert.deepEqual(complaints, []);
}

/** Sees that the page is no wider than the screen. */
async function fits(page, name) {
  const [width, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(width <= room, `${name} is ${width} wide, the screen ${room}`);
}

const text = (page, selector) => page.locator(selector).first().innerText();
const dialog = (page) => page.locator("dialog[open]");
const counts = (run_id) => JSON.parse(run("run", "status", run_id, "--json")).counts;

test("the printed address signs in and leaves no token in the bar; others are asked for one", async () => {
  const page = await open("runs");
  assert.ok(!page.url().includes(server.token));
  const [cookie] = await page.context().cookies();
  assert.ok(cookie.httpOnly && cookie.sameSite === "Strict");
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await page.getByLabel("Token").fill("a3d_nobody_00");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("This token is not known here").waitFor();
  await page.getByLabel("Token").fill(server.token);
  await page.keyboard.press("Enter");
  await page.locator("[data-run=r1]").waitFor();
  page.complaints = page.complaints.filter((line) => !/401/.test(line));
  await done(page);
});

test("a run appears and moves without reload while a worker works, is killed, and is taken over", async () => {
  const page = await open("runs");
  await page.locator("[data-run=r1]").waitFor();
  run("batch", "create", "--run-id", "moving", "--algos", "slow");
  const card = page.locator("[data-run=moving]");
  await card.waitFor();
  assert.match(await card.innerText(), /0 of 4 jobs/);
  const first = begin("run", "worker", "moving", "--yes", "-j", "2");
  await card.getByText("2 running").waitFor();
  await page.getByRole("link", { name: "Workers & providers" }).click();
  await page.locator("tr[data-state=alive]").waitFor();
  assert.match(await text(page, "tr[data-state=alive]"), /slow/);
  await kill(first);
  await page.locator("tr[data-state=dead]").waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await card.getByText("no worker is running").waitFor();
  assert.match(await card.innerText(), /worker died[^]*0 of 4 jobs\s*2 left by a dead worker\s*2 waiting[^]*archi3d run worker moving --only-status enqueued,running/);
  assert.doesNotMatch(await card.innerText(), /\d running/);
  await page.getByRole("link", { name: "Workers & providers" }).click();
  const second = begin("run", "worker", "moving", "--yes", "-j", "2", "--only-status", "enqueued,running");
  await page.locator("tr[data-state=alive]").waitFor();
  assert.match(await text(page, "tr[data-state=alive]"), /attempt 2/);
  await page.getByRole("link", { name: "Runs" }).click();
  await card.getByText("2 running").waitFor();
  writeFileSync(join(workspace, "gate"), "");
  await card.getByText("4 of 4 jobs").waitFor();
  await card.locator(".chip.completed").waitFor();
  // What the two killed attempts may have cost counts as well, once the ledger has heard of the last job.
  await card.filter({ hasText: /\$1\.50\s*spent/ }).waitFor();
  assert.equal(await second.over, 0);
  rmSync(join(workspace, "gate"));
  // The attempts of both workers are told.
  await card.getByRole("link", { name: "moving" }).click();
  await page.locator("tr[data-job]").first().getByRole("link").click();
  await page.getByRole("heading", { name: "2 attempts" }).waitFor();
  assert.equal(await page.evaluate(() => window.opened), true);
  await done(page);
});

test("a new run shows number and price before it is confirmed, and is sent once", async () => {
  const page = await open("new");
  const posts = [];
  page.on("request", (request) => request.method() === "POST" && request.url().endsWith("/runs") && posts.push(request));
  await page.getByRole("checkbox", { name: /^dear/ }).check();
  await page.getByRole("checkbox", { name: /^cheap/ }).check();
  await page.getByRole("button", { name: "Take all 4" }).click();
  await page.getByRole("button", { name: "Start 8 jobs for $1.96…" }).waitFor();
  await page.getByRole("checkbox", { name: /Stool/ }).uncheck();
  await page.getByLabel("Name").fill("picked");
  const start = page.getByRole("button", { name: "Start 6 jobs for $1.47…" });
  await start.waitFor();
  await page.getByLabel("Never more than").fill("1.00");
  await page.getByText("allow at least that much").waitFor();
  await page.getByLabel("Never more than").fill("1.50");
  await start.click();
  const asked = await dialog(page).innerText();
  assert.match(asked, /6 jobs to be made for an expected \$1\.47, never more than \$1\.50/);
  assert.equal(posts.length, 0);
  await dialog(page).getByRole("button", { name: "Start for $1.47" }).click();
  await page.locator(".runhead[data-run=picked]").waitFor();
  assert.equal(posts.length, 1);
  assert.match(posts[0].headers()["idempotency-key"], /^"[0-9a-f-]{36}"$/);
  assert.equal(posts[0].postDataJSON().max_cost_usd, 1.5);
  await page.locator("tr[data-job]").nth(5).waitFor();
  assert.equal(counts("picked").enqueued, 6);
  // Of what is there already, copies cost nothing.
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await page.getByRole("checkbox", { name: /^alpha/ }).check();
  await page.getByRole("button", { name: "Take all 4" }).click();
  await page.getByRole("button", { name: "Start 4 jobs for $0.00…" }).waitFor();
  await page.getByRole("checkbox", { name: /^alpha/ }).uncheck();
  // The same again is the same run, and says so before.
  await page.getByRole("checkbox", { name: /^dear/ }).check();
  await page.getByRole("checkbox", { name: /^cheap/ }).check();
  await page.getByRole("checkbox", { name: /Stool/ }).uncheck();
  await page.locator(".plan").getByText("This is there already").waitFor();
  assert.ok(await page.getByRole("button", { name: "Start…" }).isDisabled());
  await done(page);
});

test("a new run of what cannot start yet names what it will cost, and may be ordered", async () => {
  mkdirSync(join(workspace, "runs", ".providers"), { recursive: true });
  const closed = join(workspace, "runs", ".providers", "dear.closed.json");
  writeFileSync(closed, JSON.stringify({ provider: "dear", closed_at: new Date().toISOString(), reason: "no credit is left", closed_by: "w" }));
  const page = await open("new");
  await page.getByRole("checkbox", { name: /^dear/ }).check();
  await page.getByRole("checkbox", { name: /Stool/ }).check();
  await page.getByRole("button", { name: "Start 1 job for $0.42…" }).click();
  assert.match(await dialog(page).innerText(), /1 of them waits until it can start, and then costs that/);
  await dialog(page).getByRole("button", { name: "Not now" }).click();
  rmSync(closed);
  await done(page);
});

test("everything that matches is cancelled, with number and price in the question, and put back", async () => {
  const page = await open("run?run=many&algo=alpha");
  await page.getByRole("button", { name: "Cancel 4…" }).click();
  assert.match(await dialog(page).innerText(), /Cancel 4 jobs of many\?[^]*\$1\.68 will not be spent/);
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  assert.equal(counts("many").cancelled, 0);
  await page.getByRole("button", { name: "Cancel 4…" }).click();
  await dialog(page).getByRole("button", { name: "Cancel 4 jobs" }).click();
  await page.getByText("4 jobs cancelled").waitFor();
  await page.locator("tr[data-state=cancelled]").nth(3).waitFor();
  assert.deepEqual([counts("many").cancelled, counts("many").enqueued], [4, 4]);
  // One of them alone, by keys.
  await page.locator("tr[data-job] input").first().focus();
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Put back 1…" }).click();
  assert.match(await dialog(page).innerText(), /1 cancelled job waits again, for about \$0\.42/);
  await dialog(page).getByRole("button", { name: "Put back for $0.42" }).click();
  await page.getByText("1 job put back").waitFor();
  await page.locator("tr[data-state=enqueued]").first().waitFor();
  assert.equal(counts("many").cancelled, 3);
  await done(page);
});

test("one failed job is tried again for a price that is named, and costs nothing until then", async () => {
  const job = JSON.parse(run("run", "status", "r1", "--list", "--json")).jobs.find((one) => one.state === "failed").job_id;
  const page = await open(`job?run=r1&job=${job}`);
  await page.getByRole("button", { name: "Retry…" }).click();
  assert.match(await dialog(page).innerText(), /1 failed job goes back to the queue: about \$\d/);
  await dialog(page).getByRole("button", { name: "Not now" }).click();
  assert.equal(JSON.parse(run("run", "status", "r1", "--list", "--json")).jobs.find((one) => one.job_id === job).state, "failed");
  await done(page);
});

test("failed jobs are tried again for a price that is named", async () => {
  const page = await open("run?run=r1&state=failed");
  await page.getByRole("button", { name: "Retry 4…" }).click();
  assert.match(await dialog(page).innerText(), /4 failed jobs go back to the queue: about \$3\.60/);
  const sent = page.waitForRequest((one) => one.url().endsWith("/retry") && !one.postDataJSON().dry_run);
  await dialog(page).getByRole("button", { name: "Retry 4 jobs for $3.60" }).click();
  // Exactly what was shown, and once.
  assert.match((await sent).postDataJSON().if_plan, /^sha256:/);
  assert.match((await sent).headers()["idempotency-key"], /^"[0-9a-f-]{36}"$/);
  await page.getByText("back in the queue").waitFor();
  await done(page);
});

test("a job tells why, what was tried, what was said, and shows its model and files", async () => {
  const jobs = JSON.parse(run("run", "status", "r1", "--list", "--json")).jobs;
  const job = jobs.find((one) => one.algo === "alpha" && one.product_id === "3002").job_id;
  const page = await open(`job?run=r1&job=${job}`);
  await drawn(page);
  assert.ok((await look(page))[0].colours > 2);
  await page.getByText("attempt 1 brought its result").waitFor();
  await page.getByRole("heading", { name: "1 attempt" }).waitFor();
  await page.getByRole("heading", { name: "Log" }).waitFor();
  assert.match(await text(page, ".log"), /job_started[^]*job_completed/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "generated.glb" }).click()]);
  assert.deepEqual(readFileSync(await download.path()), readFileSync(join(workspace, "runs", "r1", "outputs", job, "generated.glb")));
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy the job's id" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), job);
  // On plain http there is no clipboard to write to.
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await page.getByRole("button", { name: "Copy the job's id" }).click();
  await page.getByText("Copied the job's id").waitFor();
  await done(page);
});

test("grid, comparison and summary of a report work on the service, and a link is a view", async () => {
  const page = await open("grid?run=r1&category=Chairs");
  await page.locator(".results tbody tr.row").nth(2).waitFor();
  assert.equal(await page.locator(".results tbody tr.row").count(), 3);
  await page.locator("button.poster").first().click();
  await drawn(page);
  assert.match(page.url(), /#compare\?run=r1/);
  await page.keyboard.press("1");
  await page.waitForFunction(() => document.querySelectorAll(".stands figure").length === 1);
  await page.keyboard.press("m");
  await page.waitForFunction(() => document.querySelector("canvas").dataset.drawn === "clay");
  await page.keyboard.press("0");
  await page.waitForFunction(() => document.querySelectorAll(".stands figure").length === 3);
  await page.getByRole("link", { name: "Summary" }).click();
  await page.locator(".card").nth(2).waitFor();
  assert.match(await text(page, ".headline"), /beta costs \$0\.07 per model/);
  await done(page);
});

test("votes and verdicts reach the tables of the workspace, and what is undone is taken back", async () => {
  const page = await open("judge?run=r1");
  await page.getByLabel("Your name").fill("ada");
  await page.keyboard.press("Enter");
  const sent = () => page.waitForResponse((answer) => answer.url().endsWith("/votes") && answer.request().method() === "POST");
  let answered = sent();
  await page.getByRole("button", { name: "Left is better" }).click();
  assert.equal((await answered).status(), 201);
  answered = sent();
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal((await answered).status(), 201);
  await page.getByRole("button", { name: "Would you use it?" }).click();
  answered = sent();
  await page.keyboard.press("y");
  assert.equal((await answered).status(), 201);
  const votes = readFileSync(join(workspace, "tables", "votes.csv"), "utf8");
  assert.match(votes, /,ada,r1,[^\n]*withdrawn/);
  assert.match(readFileSync(join(workspace, "tables", "accepts.csv"), "utf8"), /,ada,r1,[^\n]*,yes,/);
  await done(page);
});

test("who judges without naming a run gets the newest that has models", async () => {
  run("batch", "create", "--run-id", "fresh", "--algos", "cheap");
  const page = await open("judge");
  await page.locator(".runhead[data-done]").waitFor();
  assert.notEqual(await page.locator(".runhead").getAttribute("data-run"), "fresh");
  assert.notEqual(await page.locator(".runhead").getAttribute("data-done"), "0");
  await done(page);
});

test("an unknown price is said to be unknown, comes last, and is never $0.00", async () => {
  const page = await open("new");
  await page.getByRole("checkbox", { name: /^unpriced/ }).check();
  await page.getByRole("checkbox", { name: /Stool/ }).check();
  await page.getByText("unpriced has no known price, so its jobs never start under a limit").waitFor();
  assert.equal(await page.getByRole("button", { name: "Start…" }).isDisabled(), true);
  assert.doesNotMatch(await text(page, ".plan"), /\$\d/);
  run("batch", "create", "--run-id", "priceless", "--algos", "known,unpriced");
  run("run", "worker", "priceless", "--yes");
  await page.evaluate(() => (location.hash = "summary?run=priceless"));
  await page.locator(".card").nth(1).waitFor();
  assert.equal(await text(page, ".lead"), "known costs $0.02 per model. unpriced: price unknown.");
  assert.match(await page.locator(".card").last().innerText(), /^unpriced\s*price unknown/);
  assert.doesNotMatch(await page.locator(".card").last().innerText(), /\$/);
  await page.evaluate(() => (location.hash = "costs?by=algo"));
  assert.match(await page.getByRole("row", { name: /^unpriced/ }).innerText(), /^unpriced\s+unknown\s+4\s+unknown\s/);
  await done(page);
});

test("a rehearsal is nothing that was made", async () => {
  run("batch", "create", "--run-id", "rehearsed", "--algos", "dear");
  run("run", "worker", "rehearsed", "--dry-run");
  const page = await open("runs");
  const card = page.locator("[data-run=rehearsed]");
  await card.getByText("0 of 4 jobs").waitFor();
  assert.match(await card.innerText(), /4 only rehearsed/);
  assert.equal(await card.getByRole("img").getAttribute("aria-label"), "rehearsed: 4 rehearsed");
  await card.getByRole("link", { name: "rehearsed" }).first().click();
  await page.locator(".runhead").getByText("0 of 4 jobs").waitFor();
  assert.equal(await page.locator(".runhead .progress .completed").count(), 0);
  await done(page);
});

test("long names leave room for what stands beside them", async () => {
  const page = await open(`run?run=${LONG_RUN}`);
  const outside = (selector) => page.evaluate((wanted) => {
    const box = document.querySelector(wanted).getBoundingClientRect();
    return [...document.querySelectorAll(`${wanted} *`)].filter((one) => one.getBoundingClientRect().right > box.right + 1).map((one) => one.outerHTML.slice(0, 80));
  }, selector);
  for (const [screen, row] of [["run", "tr[data-job]"], ["grid", "tr.row"]]) {
    await page.evaluate((wanted) => (location.hash = wanted), `${screen}?run=${LONG_RUN}`);
    await page.locator(row).first().waitFor();
    assert.deepEqual(await outside(".filters"), [], screen);
  }
  await page.evaluate((wanted) => (location.hash = wanted), `run?run=${LONG_RUN}`);
  await page.locator("tr[data-job]").first().waitFor();
  assert.deepEqual(await outside(".results"), []);
  const heights = await page.locator("tr[data-job]").evaluateAll((rows) => rows.map((one) => one.getBoundingClientRect().height));
  assert.ok(Math.max(...heights) < 100, `${heights}`);
  await page.locator("tr[data-state=failed]").first().getByRole("link").click();
  await page.locator(".said-of").waitFor();
  assert.match(await text(page, ".said-of"), /HTTP 500/);
  assert.deepEqual(await outside(".facts"), []);
  await page.evaluate(() => (location.hash = "workers"));
  await page.getByRole("columnheader", { name: "How it stands" }).first().waitFor();
  assert.deepEqual(await outside("[aria-label=Algorithms]"), []);
  assert.match(await page.getByRole("row", { name: new RegExp(`^${LONG}`) }).innerText(), /–\s*\$1,234\.57\s/);
  await done(page);
});

test("on a telephone nothing but tables scrolls sideways, and the tab one is on can be seen", async () => {
  const job = JSON.parse(run("run", "status", LONG_RUN, "--list", "--json")).jobs.find((one) => one.algo === LONG).job_id;
  const page = await open("runs", { viewport: { width: 400, height: 900 } });
  const ofRun = ["run", "grid", "compare", "summary", "failures", "judge"].map((screen) => [`${screen}?run=${LONG_RUN}`, ".tabs ~ *"]);
  const others = [["runs", ".card"], [`job?run=${LONG_RUN}&job=${job}`, ".said-of"], ["workers", "#providers"], ["costs", ".figures"], ["costs?by=run", ".figures a"], ["costs?by=algo", ".figures"], ["new", ".tile"]];
  for (const [hash, selector] of [...ofRun, ...others]) {
    await page.evaluate((wanted) => (location.hash = wanted), hash);
    await page.locator(`main[data-screen=${hash.split("?")[0]}] ${selector}`).first().waitFor();
    await page.locator("main .empty", { hasText: "Loading…" }).waitFor({ state: "detached" });
    await fits(page, hash);
    const hidden = await page.locator("nav [aria-current]").evaluateAll((tabs) => tabs.filter((one) => {
      const [own, row] = [one.getBoundingClientRect(), one.parentElement.getBoundingClientRect()];
      return own.left < Math.max(0, row.left) - 1 || own.right > Math.min(innerWidth, row.right) + 1;
    }).map((one) => one.textContent));
    assert.deepEqual(hidden, [], hash);
  }
  await page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: "Judge" }).click();
  await page.locator("main[data-screen=judge]").waitFor();
  await done(page);
});

test("costs by day, algorithm and run are what the command line says", async () => {
  const page = await open("costs");
  const total = JSON.parse(run("cost", "report", "--by", "algo", "--json"));
  await page.getByText(`$${total.total.billed_usd.toFixed(2)}`).first().waitFor();
  await page.getByRole("button", { name: "by algo" }).click();
  const alpha = total.lines.find((line) => line.algo === "alpha").billed_usd;
  await page.getByRole("row", { name: new RegExp(`alpha \\$${alpha.toFixed(2)}`) }).waitFor();
  await page.getByRole("button", { name: "by run" }).click();
  await page.getByRole("row", { name: /^r1 / }).waitFor();
  assert.match(page.url(), /by=run/);
  // The days are in the address, so that who gets the link sees the same.
  await page.getByRole("button", { name: "by day" }).click();
  await page.getByLabel("from").fill("2020-01-02");
  await page.getByLabel("to").fill("2020-01-03");
  await page.getByLabel("to").press("Tab");
  await page.waitForURL(/from=2020-01-02.*to=2020-01-03/);
  await page.reload();
  assert.equal(await page.getByLabel("from").inputValue(), "2020-01-02");
  await done(page);
});

test("a paused algorithm is let go on by its button", async () => {
  const page = await open("workers");
  const row = page.getByRole("row", { name: /^gamma/ });
  if (await row.getByText("paused").isVisible().catch(() => false)) {
    await row.getByRole("button", { name: "Resume…" }).click();
    await dialog(page).getByRole("button", { name: "Resume" }).click();
  }
  await row.getByText("ready").waitFor();
  await done(page);
});

test("nothing is asked while the page is hidden or paused; coming back shows what happened", async () => {
  const page = await open("runs");
  await page.getByText("live", { exact: true }).waitFor();
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "paused" }).waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  run("batch", "create", "--run-id", "unseen", "--algos", "beta");
  run("run", "worker", "unseen", "--yes");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.deepEqual(asked, []);
  assert.equal(await page.locator("[data-run=unseen]").count(), 0);
  await page.keyboard.press("r");
  await page.locator("[data-run=unseen]").getByText("4 of 4 jobs").waitFor();
  const show = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await show(true);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  asked.length = 0;
  run("batch", "create", "--run-id", "unseen2", "--algos", "beta");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.deepEqual(asked, []);
  await show(false);
  await page.locator("[data-run=unseen2]").waitFor();
  assert.equal(await page.evaluate(() => window.opened), true);
  await done(page);
});

test("a token that may only read is shown everything and offered nothing that changes something", async () => {
  const made = JSON.parse(run("token", "create", "guest", "--role", "read", "--json"));
  const page = await open("run?run=many", { token: made.token });
  await page.locator("tr[data-job]").first().waitFor();
  assert.equal(await page.getByRole("button", { name: /Cancel|Retry|Put back/ }).count(), 0);
  assert.equal(await page.getByRole("link", { name: "New run" }).count(), 0);
  assert.equal(await page.getByRole("link", { name: "Judge" }).count(), 0);
  for (const hash of ["judge", "judge?run=r1"]) {
    await page.evaluate((wanted) => (location.hash = wanted), hash);
    await page.getByText("Judging needs a token with the role judge.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Left is better" }).count(), 0);
  }
  const refused = await page.evaluate(() => fetch("/api/v1/runs/many/cancel", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then((answer) => answer.status));
  assert.equal(refused, 403);
  page.complaints = page.complaints.filter((line) => !/403/.test(line));
  await done(page);
});

test("a server that stops and comes back is followed again", async () => {
  const other = await serve("--listen", "127.0.0.1:0");
  const made = JSON.parse(run("token", "create", "stays", "--role", "read", "--json"));
  const page = await browser.newPage();
  await page.goto(`${other.base}#token=${made.token}`);
  await page.getByText("live", { exact: true }).waitFor();
  await kill(other.child);
  await page.getByText("no connection").waitFor();
  const again = await serve("--listen", other.address);
  await page.getByText("live", { exact: true }).waitFor();
  run("batch", "create", "--run-id", "later", "--algos", "beta");
  await page.locator("[data-run=later]").waitFor();
  await page.close();
  await kill(again.child);
});

test("keys lead everywhere, and help says which", async () => {
  const page = await open("runs");
  await page.locator("[data-run=r1]").waitFor();
  for (const [key, screen] of [["w", "workers"], ["c", "costs"], ["n", "new"], ["r", "runs"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.locator(`main[data-screen=${screen}]`).waitFor();
  }
  await page.keyboard.press("?");
  assert.match(await dialog(page).innerText(), /pause refresh/);
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await page.keyboard.type("man");
  await page.locator("[data-run=r1]").waitFor({ state: "detached" });
  await page.locator("[data-run=many]").waitFor();
  await page.evaluate(() => document.activeElement.blur());
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await colour();
  await page.keyboard.press("t");
  await page.keyboard.press("t");
  assert.notEqual(await colour(), light);
  await done(page);
});

for (const scheme of ["light", "dark"]) {
  test(`everybody can use every screen of the dashboard (${scheme})`, async () => {
    const jobs = JSON.parse(run("run", "status", "r1", "--list", "--json")).jobs;
    const job = jobs.find((one) => one.algo === "gamma").job_id;
    // The checker itself is a script from elsewhere, which the page's policy would refuse.
    const page = await open("runs", { viewport: { width: scheme === "light" ? 1400 : 400, height: 900 }, colorScheme: scheme, reducedMotion: "reduce", bypassCSP: true });
    await page.addScriptTag({ path: axe });
    const ready = {
      runs: "[data-run=r1]", "run?run=r1": "tr[data-job]", "grid?run=r1": "tr.row", "compare?run=r1": ".stands", "summary?run=r1": ".card", "failures?run=r1": ".prose",
      "judge?run=r1": ".judging", [`job?run=r1&job=${job}`]: ".why-box", workers: "#providers", costs: ".figures", new: ".tile",
    };
    const check = async (name) => {
      const found = await page.evaluate(async () =>
        (await window.axe.run(document, { preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }))
          .violations.map((one) => `${one.id}: ${one.nodes[0].html}`));
      assert.deepEqual(found, [], name);
      await fits(page, name);
    };
    for (const [hash, selector] of Object.entries(ready)) {
      await page.evaluate((wanted) => (location.hash = wanted), hash);
      await page.locator(`main ${selector}`).first().waitFor();
      await check(hash);
      assert.equal(await page.evaluate(() => document.getAnimations().length), 0, `${hash} stands still`);
    }
    await page.keyboard.press("?");
    await check("help");
    await page.keyboard.press("Escape");
    await page.evaluate(() => (location.hash = "run?run=many"));
    await page.getByRole("button", { name: /^Cancel \d/ }).click();
    await check("a question");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await check("sign-in");
    await page.context().close();
  });
}
