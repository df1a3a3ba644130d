// The arithmetic of the summary against values of SciPy and R.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "../node_modules/esbuild/lib/main.js";

const source = join(dirname(fileURLToPath(import.meta.url)), "..", "src", "stats.ts");
const bundled = await build({ entryPoints: [source], bundle: true, format: "esm", write: false });
const { holm, paired, quantile, wilson } = await import(`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].text).toString("base64")}`);
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
