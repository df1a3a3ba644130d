// Builds assets/web from web/: bundles, licence texts, one folder. Deterministic: the same
// sources and lock file give the same bytes, which scripts/test proves.
import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "assets", "web");
const ALLOWED = new Set(["MIT", "Apache-2.0", "ISC", "BSD-3-Clause"]);

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome120", "firefox121", "safari17.5"],
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  // Loaders of three ask where they are; a classic script from a disk has no such address.
  define: { "import.meta.url": "document.baseURI" },
  logLevel: "warning",
};

const results = await Promise.all([
  build({ ...shared, entryPoints: ["src/app.tsx"], outfile: join(out, "app.js"), jsx: "automatic", jsxImportSource: "preact" }),
  build({ ...shared, entryPoints: ["src/board/main.tsx"], outfile: join(out, "board.js"), jsx: "automatic", jsxImportSource: "preact" }),
  build({ ...shared, entryPoints: ["src/viewer.ts"], outfile: join(out, "viewer.js") }),
  build({ ...shared, entryPoints: ["src/style.css"], outfile: join(out, "app.css") }),
  build({ ...shared, entryPoints: ["src/board/board.css"], outfile: join(out, "board.css") }),
]);

const draco = join(here, "node_modules", "three", "examples", "jsm", "libs", "draco", "gltf");
const wrapper = readFileSync(join(draco, "draco_wasm_wrapper.js"), "utf8");
const wasm = readFileSync(join(draco, "draco_decoder.wasm")).toString("base64");
writeFileSync(join(out, "draco.js"), `window.archi3dDraco=${JSON.stringify({ wrapper, wasm })};\n`);
for (const page of ["index.html", "board.html"]) writeFileSync(join(out, page), readFileSync(join(here, page)));

const packages = new Set();
for (const result of results) {
  for (const input of Object.keys(result.metafile.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/);
    if (found) packages.add(found[1]);
  }
}
const texts = ["This page is built with the following software.\n"];
for (const name of [...packages].sort()) {
  const home = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  if (!ALLOWED.has(license)) throw new Error(`${name} has the licence ${license}, which is not on the list`);
  const file = readdirSync(home).find((entry) => /^licen[cs]e/i.test(entry));
  texts.push(`== ${name} ${version} (${license})\n\n${file ? readFileSync(join(home, file), "utf8").trim() : license}\n`);
}
texts.push("== Draco decoder (Apache-2.0)\n\nCopyright The Draco Authors. Licensed under the Apache License, Version 2.0:\nhttps://www.apache.org/licenses/LICENSE-2.0\n");
writeFileSync(join(out, "LICENSES.txt"), texts.join("\n"));
if (!existsSync(join(out, "app.js"))) throw new Error("nothing was built");
