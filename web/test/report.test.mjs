// The page of a report in a real browser, opened from the disk: it draws, asks no network for
// anything, and everybody can use it. Needs ARCHI3D (the program) and Debian's Chromium.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { done, drawn, launch, look, open } from "./browser.mjs";
import { editTable, fixtures, makeWorkspace, ring } from "./workspace.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const place = mkdtempSync(join(tmpdir(), "archi3d-web-"));
const workspace = join(place, "work");
const red = ring();
const blue = ring({ colour: [0.1, 0.2, 0.6], stretch: 2 });
const KTX2 = { extensionsUsed: ["KHR_texture_basisu"], extensionsRequired: ["KHR_texture_basisu"] };

const HOSTILE = [
  { id: "1001", name: "<img src=x onerror=alert(1)>", category: "</script><script>alert(2)</script>" },
  { id: "1002", name: `"quoted" & 'single' \`tick\` \u2028 --> ]]>`, category: "Chairs" },
  { id: "1003", name: "כיסא מטבח \u202e gnp.exe", category: "Chairs" },
  { id: "1004", name: `${"long ".repeat(40)}${"x".repeat(100)}`, category: "Chairs" },
];
const PLAIN = ["Oak chair", "Ash chair", "Desk lamp", "Floor lamp", "Stool"].map((name, at) => ({
  id: `200${at}`, name, category: name.includes("lamp") ? "Lamps" : "Chairs", ...(at < 2 ? { truth: red } : {}),
}));
/** What takes the place of beta's models. */
const ODD = {
  1001: (path) => writeFileSync(path, ""),
  1002: (path) => writeFileSync(path, red.subarray(0, 700)),
  1003: unlinkSync,
  1004: (path) => copyFileSync(join(fixtures, "models", "draco.glb"), path),
  2000: (path) => copyFileSync(join(fixtures, "models", "meshopt.glb"), path),
  2002: (path) => writeFileSync(path, ring({ extra: KTX2 })),
};

const UNPRICED = "a_very_long_algorithm_that_nobody_knows_the_price_of_v2p5_multi_stochastic";

let browser;
let run;
let address;
let bare;
/** What `judge rank` said when the reports were built. */
let ranked;

before(async () => {
  run = makeWorkspace(process.env.ARCHI3D, workspace, {
    items: [...HOSTILE, ...PLAIN],
    algos: ["alpha", "beta", "gamma"],
    adapters: `adapters:
  alpha: {kind: mock, unit_price_usd: 0.42}
  beta: {kind: mock, unit_price_usd: 0.07}
  gamma: {kind: mock, unit_price_usd: 0.9, fail: "refused: <b>no</b> chairs (request 8f31c2aa90)", fail_class: permanent}
  known: {kind: mock, unit_price_usd: 0.02, seed: 2}
  ${UNPRICED}: {kind: process, command: [sh, -c, "cat > /dev/null; cp ${fixtures}/models/draco.glb generated.glb"]}
`,
  });
  const accepts = ["accept_id,at,judge,run_id,job_id,item,accepted,reason"];
  editTable(join(workspace, "tables", "generations.csv"), (rows) => rows.forEach((row, at) => {
    if (row.status !== "completed") return;
    const model = join(workspace, row.gen_object_path);
    writeFileSync(model, row.algo === "alpha" ? red : blue);
    if (row.algo === "beta") ODD[row.product_id]?.(model);
    if (row.gt_object_path) {
      const [fscore, fscore_scale] = row.algo === "alpha" ? [0.91, 1] : [0.35, 0.5];
      Object.assign(row, {
        fscore, precision: 0.9, recall: 0.9, chamfer_l2: 0.01, fscore_status: row.algo === "beta" && row.product_id === "2001" ? "ambiguous" : "ok", fscore_scale,
        fscore_rot_w: 1, fscore_rot_x: 0, fscore_rot_y: 0, fscore_rot_z: 0, fscore_tx: 0, fscore_ty: 0, fscore_tz: 0,
      });
    }
    const accepted = row.algo === "alpha" || at % 2 === 0 ? "yes" : "no";
    accepts.push(`00000000-0000-4000-8000-${String(at).padStart(12, "0")},2026-01-01T00:00:00Z,ada,r1,${row.job_id},${row.product_id},${accepted},`);
  }));
  writeFileSync(join(place, "accepts.csv"), `${accepts.join("\n")}\n`);
  run("judge", "import", join(place, "accepts.csv"));
  const jobs = JSON.parse(run("run", "status", "r1", "--list", "--json")).jobs;
  const job = (item, algo) => jobs.find((one) => one.product_id === item && one.algo === algo).job_id;
  const votes = PLAIN.map(({ id }, at) => `v${at},2026-01-01T00:00:00Z,ada,r1,${job(id, "alpha")},r1,${job(id, "beta")},${id},textured,left,${"aaabt"[at].replace("t", "tie")},9,1`);
  writeFileSync(join(place, "votes.csv"), ["vote_id,at,judge,run_id_a,job_a,run_id_b,job_b,item,mode,side_of_a,answer,ms,seed", ...votes, ""].join("\n"));
  run("judge", "import", join(place, "votes.csv"));
  ranked = JSON.parse(run("judge", "rank", "r1", "--json"));
  run("batch", "create", "--run-id", "r2", "--algos", "alpha,beta");
  run("run", "worker", "r2", "--yes", "--algo", "alpha");
  run("run", "worker", "r2", "--dry-run", "--algo", "beta");
  run("batch", "create", "--run-id", "priceless", "--algos", `known,${UNPRICED}`);
  run("run", "worker", "priceless", "--yes");
  // A picture that is gone and one that is none.
  unlinkSync(join(workspace, "dataset", "1003", "images", "view_A.jpg"));
  writeFileSync(join(workspace, "dataset", "1004", "images", "view_A.jpg"), "no picture");
  run("report", "build", "r1", "--single-file");
  run("report", "build", "r1", "--against", "r2", "--models", "none", "--out", join(place, "bare"));
  address = pathToFileURL(join(workspace, "reports", "r1", "index.html")).href;
  bare = pathToFileURL(join(place, "bare", "index.html")).href;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(place, { recursive: true, force: true });
});

const at = (screen, options) => open(browser, `${address}#${screen}`, options);

test("every model is drawn, one drag turns all of them, and every way of drawing shows", async () => {
  const page = await at("compare?item=2001:default");
  await drawn(page);
  const before = await look(page);
  assert.ok(before.length === 3 && before.every((one) => one.colours > 20), JSON.stringify(before));
  const box = await page.locator("canvas").first().boundingBox();
  await page.mouse.move(box.x + 100, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 180, box.y + 150, { steps: 4 });
  await page.mouse.up();
  await page.waitForTimeout(600);
  const after = await look(page);
  assert.ok(after.every((one, i) => one.sum !== before[i].sum), JSON.stringify([before, after]));
  for (const mode of ["clay", "normals", "wireframe", "overlay"]) {
    await page.getByRole("button", { name: mode }).click();
    await page.waitForFunction((wanted) => [...document.querySelectorAll("canvas")].every((one) => one.hidden || one.dataset.drawn === wanted), mode);
  }
  await page.waitForTimeout(500);
  const over = await look(page);
  assert.notEqual(over[1].sum, after[1].sum, "the real model lies over it");
  await page.keyboard.press("n");
  await page.getByRole("heading", { name: "Desk lamp" }).waitFor();
  await done(page);
});

test("models that are damaged, missing or compressed are told in a sentence or drawn, and the rest too", async () => {
  const page = await at("grid");
  const cell = (item) => page.locator("tr.row").nth(item).locator("td").nth(1);
  for (const [item, reason] of [[0, "empty"], [1, "has 700"], [2, "file is missing"], [3, "Draco"]]) {
    const said = await cell(item).locator(".note").textContent();
    assert.match(said, new RegExp(`^the maker's own picture: .*${reason}`));
  }
  await done(page);
  for (const [item, words] of [["1001", /cannot be read/], ["1002", /cannot be read/], ["1003", /file is missing/], ["2002", /KTX2, which this page does not decode/]]) {
    const one = await at(`compare?item=${item}:default`);
    await one.locator("figure", { hasText: "beta" }).locator(".instead p").getByText(words).waitFor();
    await drawn(one);
    assert.ok((await look(one))[0].colours > 20);
    await done(one);
  }
  for (const item of ["1004", "2000"]) {
    const one = await at(`compare?item=${item}:default`);
    await drawn(one);
    const seen = await look(one);
    assert.ok(seen.length >= 2 && seen.every((canvas) => canvas.colours > 20), JSON.stringify(seen));
    assert.match(await one.locator("figure", { hasText: "beta" }).last().textContent(), /576 triangles/);
    await done(one);
  }
});

test("names of products are shown as they are, never executed", async () => {
  const page = await at("grid");
  await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
  await page.getByText("</script><script>alert(2)</script>").first().waitFor();
  for (const screen of ["summary", "failures", "compare?item=1001:default", "judge", "about"]) {
    await page.evaluate((hash) => (location.hash = hash), screen);
    await page.waitForTimeout(100);
  }
  assert.equal(await page.evaluate(() => document.querySelectorAll("img[src=x], main script").length), 0);
  const wide = await at("grid", { viewport: { width: 400, height: 800 } });
  assert.ok(await wide.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a long name widens nothing");
  await done(wide);
  await done(page);
});

test("pictures that are missing or none are told, and the rest is shown", async () => {
  const page = await at("compare?item=1003:default");
  await page.getByText("1 picture cannot be read").waitFor();
  await page.evaluate(() => (location.hash = "#compare?item=1004:default"));
  await page.getByText("1 picture cannot be read").waitFor();
  await done(page);
});

test("facets count, filters narrow, and everything stands in the link", async () => {
  const page = await at("grid");
  const rows = page.locator("tr.row");
  const status = page.getByRole("status");
  assert.equal(await status.textContent(), "9 items, 27 jobs");
  assert.match(await page.getByLabel("completed").locator("..").textContent(), /18/);
  await page.getByLabel("Lamps").check();
  await page.waitForFunction(() => document.querySelectorAll("tr.row").length === 2);
  // Two lamps by three makers, of which one made nothing: what the other facets choose is counted.
  const beside = (label) => page.getByLabel(label).locator("..").locator("small").textContent();
  assert.deepEqual([await beside(/^completed/), await beside("alpha"), await beside("Lamps"), await beside("Chairs")], ["4", "2", "6", "18"]);
  await page.getByLabel(/^completed/).check();
  assert.deepEqual([await status.textContent(), await beside("gamma"), await beside("Lamps")], ["2 of 9 items, 4 of 27 jobs · show all", "0", "4"]);
  await page.getByLabel("Order by").selectOption("disagreement");
  const again = await at(new URL(page.url()).hash.slice(1));
  assert.ok((await rows.count()) > 0);
  assert.equal(await again.locator("tr.row").count(), await rows.count());
  assert.equal(await again.getByLabel("Order by").inputValue(), "disagreement");
  assert.ok(await again.getByLabel(/^completed/).isChecked());
  await again.getByRole("button", { name: "show all" }).click();
  await again.getByRole("searchbox").fill("oak");
  await again.waitForFunction(() => document.querySelectorAll("tr.row").length === 1);
  await again.getByRole("searchbox").fill("");
  await again.getByLabel("0.8 to 1.0").check();
  await again.waitForFunction(() => document.querySelectorAll("tr.row").length === 2);
  await again.getByRole("button", { name: "show all" }).click();
  await again.getByLabel("rejected").check();
  await again.waitForFunction(() => !/^9 items/.test(document.querySelector("[role=status]").textContent));
  await done(page);
  await done(again);
});

test("the keyboard turns posters, opens items and swipes between two", async () => {
  const page = await at("grid");
  const poster = page.locator("tr.row").nth(1).locator("button.poster").first();
  const view = () => poster.locator("img").getAttribute("style");
  const before = await view();
  await poster.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((was) => document.querySelectorAll("tr.row")[1].querySelector("button.poster img").getAttribute("style") !== was, before);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "quoted" }).waitFor();
  await page.evaluate(() => (location.hash = "#compare?item=2004:default"));
  await page.getByRole("button", { name: "swipe between two" }).click();
  await drawn(page);
  const slider = page.getByRole("slider");
  await slider.focus();
  await page.keyboard.press("Home");
  await page.waitForFunction(() => document.querySelector(".both").style.getPropertyValue("--share") === "0%");
  assert.match(page.url(), /swipe=alpha&swipe=beta/);
  await done(page);
});

/** Says who judges. */
const name = async (page, judge) => {
  await page.getByLabel("Your name").fill(judge);
  await page.keyboard.press("Enter");
};
const store = (page) => page.evaluate(() => Object.entries(localStorage).filter(([key]) => key.startsWith("archi3d-judge")));

test("every judge has a book of their own in every report, and the last word of each counts", async () => {
  // One browser profile for all pages, as people have it.
  const profile = await browser.newContext({ viewport: { width: 1400, height: 900 }, acceptDownloads: true });
  const visit = async (url) => {
    const page = await open({ newPage: () => profile.newPage() }, url);
    await page.getByRole("button", { name: "Would you use it?" }).click();
    return page;
  };
  const told = (page, words) => page.getByRole("status").getByText(words).waitFor();
  const page = await visit(`${address}#judge`);
  await page.keyboard.press("y");
  await page.getByText("Say who you are first").waitFor();
  assert.deepEqual(await store(page), [], "nobody's answer is kept");
  await name(page, "Ana");
  await page.keyboard.press("y");
  await told(page, /0 votes, 1 verdict by Ana/);
  const save = async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "judge import" }).click()]);
    await download.saveAs(join(place, download.suggestedFilename()));
    return join(place, download.suggestedFilename());
  };
  run("judge", "import", await save());
  const accepted = () => JSON.parse(run("judge", "rank", "r1", "--json")).algos.reduce((sum, one) => sum + one.accepted, 0);
  // Taken back after it was saved, and said otherwise: only that counts.
  const first = (await store(page))[0][1];
  await page.keyboard.press("z");
  await told(page, /0 verdicts/);
  await page.keyboard.press("n");
  await told(page, /1 verdict by Ana/);
  const second = (await store(page))[0][1];
  const verdict = (text) => JSON.parse(text).books.Ana.verdicts[0];
  assert.equal(verdict(first).job_id, verdict(second).job_id);
  const before = JSON.parse(readFileSync(join(workspace, "reports", "r1", "data.js"), "utf8").replace(/^[^{]*|;\s*$/g, "")).accepts;
  run("judge", "import", await save());
  run("report", "build", "r1", "--out", join(place, "again"), "--models", "none");
  const after = JSON.parse(readFileSync(join(place, "again", "data.js"), "utf8").replace(/^[^{]*|;\s*$/g, "")).accepts;
  assert.equal(after.length, before.length + 1);
  assert.equal(after.find((one) => one.judge === "Ana").accepted, false);
  assert.ok(accepted() < before.filter((one) => one.accepted).length + 1);
  await name(page, "Bo");
  await told(page, /^0 votes, 0 verdicts by Bo/);
  await page.keyboard.press("y");
  await told(page, /1 verdict by Bo/);
  const text = readFileSync(await save(), "utf8");
  assert.equal(text.trim().split("\n").length, 2);
  assert.match(text, /,Bo,/);
  await name(page, "Ana");
  await told(page, /1 verdict by Ana/);
  // Another run shares nothing, the same run in another report does.
  const other = await visit(`${bare}#judge?run=r2`);
  await told(other, /^0 votes, 0 verdicts in/);
  const same = await visit(`${bare}#judge?run=r1`);
  await told(same, /1 verdict by Ana/);
  for (const one of [page, other, same]) await done(one);
  await profile.close();
});

test("a link to an item or a run that is not there says so", async () => {
  const page = await at("compare?item=nothing");
  await page.getByText("There is no nothing in this run").waitFor();
  await page.evaluate(() => (location.hash = "#summary?run=r9"));
  await page.getByText("There is no run r9 in this report; this is r1.").waitFor();
  await done(page);
});

test("votes and verdicts leave as files that judge import takes", async () => {
  const page = await at("judge");
  await name(page, "Cy");
  await drawn(page);
  await page.keyboard.press(" ");
  // Two keys in a row judge two pairs.
  await page.evaluate(() => ["ArrowRight", "ArrowLeft"].forEach((key) => setTimeout(() => dispatchEvent(new KeyboardEvent("keydown", { key })))));
  await page.getByText("2 votes,").waitFor();
  const judged = await page.evaluate(() => JSON.parse(Object.entries(localStorage).find(([key]) => key.startsWith("archi3d-judge"))[1]).books.Cy.votes.map((vote) => vote.job_a + vote.job_b));
  assert.equal(new Set(judged).size, 2);
  await page.keyboard.press("z");
  await page.getByText("1 vote,").waitFor();
  const save = async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "judge import" }).click()]);
    const path = join(place, download.suggestedFilename());
    await download.saveAs(path);
    return path;
  };
  const votes = await save();
  assert.match(readFileSync(votes, "utf8"), /^\ufeffvote_id,at,judge,run_id_a,job_a,run_id_b,job_b,item,mode,side_of_a,answer,ms,seed\n/);
  assert.match(run("judge", "import", votes), /1 vote /);
  assert.match(run("judge", "import", votes), /1 known already/);
  await page.locator("canvas").first().focus();
  await page.keyboard.press("Shift+ArrowLeft");
  assert.match(await page.getByRole("status").textContent(), /^1 vote,/, "turning is no vote");
  const count = () => JSON.parse(run("judge", "rank", "r1", "--json")).votes;
  assert.equal(count(), 6);
  // What has left as a file is taken back by the next one.
  await page.keyboard.press("z");
  await page.getByText("0 votes,").waitFor();
  const back = await save();
  assert.match(readFileSync(back, "utf8"), /,withdrawn,/);
  run("judge", "import", back);
  assert.equal(count(), 5);
  await page.evaluate(() => localStorage.clear());
  await page.reload();
  await name(page, "Cy");
  await page.getByRole("button", { name: "Would you use it?" }).click();
  await page.keyboard.press("y");
  await page.getByText("1 verdict").waitFor();
  assert.match(readFileSync(await save(), "utf8"), /^\ufeffaccept_id,.*\n.*,yes,\n$/);
  await done(page);
});

test("votes are ranked as judge rank ranks them, ties are said, and what is left out too", async () => {
  const page = await at("summary");
  const table = page.getByRole("region", { name: "Ranking, textured" });
  for (const [at, one] of ranked.algos.entries()) {
    const said = await table.locator("tbody tr").nth(at).textContent();
    for (const figure of [one.algo, Math.round(one.points), `${one.accepted} of ${one.judged}`]) assert.ok(said.includes(String(figure)), `${said}: ${figure}`);
  }
  await page.getByText(/no ranking yet|is tied with/).waitFor();
  await page.getByText("Not compared, because fewer than five items are finished by both: alpha and gamma (0)").waitFor();
  await done(page);
  const other = await open(browser, `${bare}#diff?change=only+rehearsed`);
  assert.equal(await other.locator(".differences li").count(), 9);
  await other.getByText("only rehearsed", { exact: true }).nth(2).waitFor();
  await other.getByRole("link", { name: "About" }).click();
  for (const line of [/9 jobs: only rehearsed/, /models of \d+ only as pictures/, /2 source pictures cannot be read/]) await other.getByText(line).waitFor();
  await done(other);
});

test("sums and counts on the page are those of cost report and run status", async () => {
  const cost = JSON.parse(run("cost", "report", "r1", "--json"));
  const status = JSON.parse(run("run", "status", "r1", "--json"));
  const page = await at("summary");
  const money = (text) => Number(text.replace(/[$,]/g, ""));
  assert.equal(money(await page.locator(".headline .total").textContent()), cost.total.billed_usd);
  assert.equal(money(await page.locator(".headline .total").textContent()), status.money.spent_usd);
  for (const line of status.algos) {
    const card = page.locator(".card", { hasText: line.algo });
    const value = (name) => card.locator(`dt:text-is("${name}") + dd`).textContent();
    assert.match(await value("Done"), new RegExp(`^${line.counts.completed} of ${line.counts.completed + line.counts.failed} `));
    assert.equal(money((await value("Spent")).split(" ")[0]), line.cost_usd);
  }
  assert.match(await page.locator(".headline").textContent(), /gamma: \$0\.00 spent, no model\./);
  const beta = page.locator(".card", { hasText: "beta" });
  assert.match(await beta.locator('dt:text-is("F-score") + dd').textContent(), /0\.350 median of 1 of 2; 1 ambiguous/);
  // Nine models at $0.42 each, all accepted.
  assert.match(await page.locator(".lead").textContent(), /alpha \$0\.42/);
  await page.getByLabel("Category", { exact: true }).selectOption("Lamps");
  await page.waitForFunction(() => document.querySelector(".total").textContent === "$0.98");
  await done(page);
});

test("an unknown price comes last, and a long name leaves room for what stands beside it", async () => {
  run("report", "build", "priceless", "--models", "none", "--out", join(place, "priceless"));
  const report = pathToFileURL(join(place, "priceless", "index.html")).href;
  const page = await open(browser, `${report}#summary`);
  assert.equal(await page.locator(".lead").innerText(), `known costs $0.02 per model. ${UNPRICED}: price unknown.`);
  const last = await page.locator(".card").last().innerText();
  assert.match(last, /price unknown/);
  assert.doesNotMatch(last, /\$/);
  assert.doesNotMatch(await page.locator("[aria-label='Price by category']").innerText(), /\$0\.00/);
  await page.getByRole("link", { name: "Grid" }).click();
  await page.locator("tr.row").first().waitFor();
  const outside = await page.evaluate(() => {
    const { right } = document.querySelector(".filters").getBoundingClientRect();
    return [...document.querySelectorAll(".filters *")].filter((one) => one.getBoundingClientRect().right > right + 1).length;
  });
  assert.equal(outside, 0);
  await page.setViewportSize({ width: 400, height: 900 });
  for (const screen of ["Summary", "Grid", "Compare", "Failures", "Judge", "About"]) {
    await page.getByRole("link", { name: screen }).click();
    const { width, room, tab } = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth, room: document.documentElement.clientWidth,
      tab: document.querySelector("nav [aria-current]").getBoundingClientRect(),
    }));
    assert.ok(width <= room, `${screen} is ${width} wide`);
    assert.ok(tab.left >= 0 && tab.right <= 401, `${screen} is from ${tab.left} to ${tab.right}`);
  }
  await done(page);
});

test("a folder that was chosen shows what the report leaves out, and leaving gives everything back", async () => {
  const page = await open(browser, `${bare}#compare?item=2004:default`);
  await page.getByText("choose the workspace folder to see it in 3D").first().waitFor();
  await page.locator("input[type=file]").setInputFiles(join(workspace, "runs"));
  await drawn(page);
  assert.equal((await look(page)).length, 2);
  assert.equal(await page.evaluate(() => window.viewerOfTest.held().cells), 2);
  await page.getByRole("link", { name: "Summary" }).click();
  await page.waitForFunction(() => {
    const { cells, geometries, textures } = window.viewerOfTest.held();
    return cells + geometries + textures === 0;
  });
  await done(page);
});

test("two runs are held against each other, and both models of a job turn together", async () => {
  const page = await open(browser, `${bare}#diff`);
  await page.getByText("r1 against r2").first().waitFor();
  const choice = (name) => page.getByRole("button", { name });
  assert.match(await choice("another model").textContent(), /another model 9/);
  assert.match(await choice("only now").textContent(), /only now 9/);
  await choice("another model").click();
  assert.match(page.url(), /change=another\+model/);
  assert.equal(await page.locator(".differences li").count(), 9);
  await page.getByRole("button", { name: "see in 3D" }).first().click();
  await page.getByText("choose the workspace folder").first().waitFor();
  await done(page);
});

test("a report in one file shows the same", async () => {
  const page = await open(browser, `${pathToFileURL(join(workspace, "reports", "r1", "report.html")).href}#compare?item=1004:default`);
  await drawn(page);
  assert.ok((await look(page)).every((one) => one.colours > 20));
  await done(page);
});

test("without WebGL there are pictures and one sentence", async () => {
  const poor = await launch("--disable-3d-apis");
  const page = await open(poor, `${address}#compare?item=2004:default`);
  await page.getByText("This browser cannot draw in 3D here (no WebGL)").first().waitFor();
  assert.equal(await page.locator(".instead .poster img").count(), 2);
  await page.getByRole("link", { name: "Judge" }).click();
  await page.getByText("This browser cannot draw in 3D here (no WebGL)").first().waitFor();
  page.complaints = page.complaints.filter((text) => !/WebGL/.test(text));
  await done(page);
  await poor.close();
});

test("the summary prints without what only a screen needs, and nothing moves for those who ask for it", async () => {
  const page = await at("summary", { reducedMotion: "reduce" });
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator("nav").isVisible(), false);
  assert.ok(await page.locator(".card").first().isVisible());
  await page.emulateMedia({ media: "screen", reducedMotion: "reduce" });
  await page.evaluate(() => (location.hash = "#compare"));
  await drawn(page);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await done(page);
});

for (const scheme of ["light", "dark"]) {
  test(`everybody can use every screen (${scheme})`, async () => {
    // The checker itself is a script from elsewhere, which the page's policy would refuse.
    const page = await browser.newPage({ viewport: { width: scheme === "light" ? 1400 : 400, height: 900 }, colorScheme: scheme, bypassCSP: true });
    for (const screen of ["summary", "grid", "compare?item=2000:default", "compare?item=2004:default&swipe=alpha&swipe=beta", "failures", "judge", "about", "diff"]) {
      if (screen === "summary" || screen === "diff") {
        await page.goto(`${screen === "diff" ? bare : address}#${screen}`);
        await page.waitForSelector("main > *");
        await page.addScriptTag({ path: axe });
      }
      await page.evaluate((hash) => (location.hash = hash), screen);
      await page.waitForTimeout(150);
      const found = await page.evaluate(async () =>
        (await window.axe.run(document, { preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }))
          .violations.map((one) => `${one.id}: ${one.nodes[0].html}`));
      assert.deepEqual(found, [], screen);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${screen} is as wide as the screen`);
    }
    await page.close();
  });
}
