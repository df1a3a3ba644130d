// The arithmetic of the summary against values of SciPy and R, and how money reads.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "../node_modules/esbuild/lib/main.js";

async function load(name) {
  const source = join(dirname(fileURLToPath(import.meta.url)), "..", "src", name);
  const bundled = await build({ entryPoints: [source], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].text).toString("base64")}`);
}
const { holm, paired, quantile, wilson } = await load("stats.ts");
const { about, priced, usd } = await load("format.ts");
const near = (found, wanted, by = 1e-6) => assert.ok(Math.abs(found - wanted) < by, `${found} instead of ${wanted}`);

test("Wilcoxon's signed-rank test is exact for few pairs and close for many", () => {
  // scipy.stats.wilcoxon of Darwin's plants: statistic 24.0, p 0.041259765625.
  near(paired([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]).p, 0.041259765625, 1e-12);
  const many = Array.from({ length: 40 }, (_, at) => (at % 3 === 0 ? -1 : 1) * (at + 1.5));
  // Counting all signs gives 0.1000315; the normal distribution comes close.
  near(paired(many).p, 0.1000315, 0.001);
  assert.equal(paired([1, 2, 3, 4]), null, "four pairs tell nothing");
});

test("corrections, intervals and quantiles are those of R", () => {
  assert.deepEqual(holm([0.01, 0.04, 0.03]).map((p) => Number(p.toFixed(6))), [0.03, 0.06, 0.06]);
  const [low, high] = wilson(8, 10);
  near(low, 0.4901625, 1e-5);
  near(high, 0.9433178, 1e-5);
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  near(quantile([1, 2, 3, 4], 0.95), 3.85);
});

test("money is exact below a dollar and to the cent from there on", () => {
  assert.deepEqual([0, 300_000, 4_200, 123, 999_999, 1_000_000, 1_004_999, 1_005_000, 1_234_567_800, null].map(usd),
    ["$0.00", "$0.30", "$0.0042", "$0.000123", "$0.999999", "$1.00", "$1.00", "$1.01", "$1,234.57", "–"]);
  assert.deepEqual([300_400, 10_000, 4_166.67].map(about), ["$0.30", "$0.01", "$0.004167"]);
  assert.deepEqual([[0, 0], [420_000, 0], [420_000, 2], [0, 2]].map(([micros, unknown]) => priced(micros, unknown)), ["$0.00", "$0.42", "at least $0.42", "an unknown price"]);
});
