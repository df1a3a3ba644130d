// Makes workspaces with a finished run, for the tests and for scripts/bench_report.

import { execFileSync } from "node:child_process";
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const fixtures = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "fixtures");

/** A ring as GLB: `steps` around, a linear colour, stretched; `extra` is mixed into its description. */
export function ring({ steps = 24, colour = [0.6, 0.1, 0.1], stretch = 1, extra = {} } = {}) {
  const [around, across] = [steps, Math.max(6, steps >> 1)];
  const places = new Float32Array(around * across * 3);
  const corners = new Uint32Array(around * across * 6);
  for (let i = 0; i < around; i += 1) {
    for (let j = 0; j < across; j += 1) {
      const [a, b] = [(i / around) * 2 * Math.PI, (j / across) * 2 * Math.PI];
      const radius = 1 + 0.4 * Math.cos(b);
      places.set([radius * Math.cos(a), 0.4 * stretch * Math.sin(b), radius * Math.sin(a)], (i * across + j) * 3);
      const at = (x, y) => (x % around) * across + (y % across);
      corners.set([at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)], (i * across + j) * 6);
    }
  }
  const binary = Buffer.concat([Buffer.from(places.buffer), Buffer.from(corners.buffer)]);
  return glb({
    asset: { version: "2.0" }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1, material: 0 }] }],
    materials: [{ pbrMetallicRoughness: { baseColorFactor: [...colour, 1], metallicFactor: 0 }, doubleSided: true }],
    accessors: [
      { bufferView: 0, componentType: 5126, count: places.length / 3, type: "VEC3", min: [-1.4, -0.4 * stretch, -1.4], max: [1.4, 0.4 * stretch, 1.4] },
      { bufferView: 1, componentType: 5125, count: corners.length, type: "SCALAR" },
    ],
    buffers: [{ byteLength: binary.length }],
    bufferViews: [{ buffer: 0, byteOffset: 0, byteLength: places.byteLength }, { buffer: 0, byteOffset: places.byteLength, byteLength: corners.byteLength }],
    ...extra,
  }, binary);
}

function glb(description, binary) {
  const text = Buffer.from(JSON.stringify(description));
  const json = Buffer.concat([text, Buffer.alloc(-text.length & 3, 32)]);
  const head = Buffer.alloc(20);
  head.write("glTF", 0);
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(28 + json.length + binary.length, 8);
  head.writeUInt32LE(json.length, 12);
  head.write("JSON", 16);
  const chunk = Buffer.alloc(8);
  chunk.writeUInt32LE(binary.length, 0);
  chunk.write("BIN\0", 4);
  return Buffer.concat([head, json, chunk, binary]);
}

/** Makes a workspace in `root` and runs every algo over every item. An item has `id`, `name`, `category`, and
 * `truth` (bytes) if there is a real model of it, and `distinct` if its picture is no other one's. Returns a function that runs archi3d there. */
export function makeWorkspace(archi3d, root, { items, adapters, algos }) {
  const run = (...words) => execFileSync(archi3d, words, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
  mkdirSync(root, { recursive: true });
  execFileSync(archi3d, ["init", root], { stdio: "ignore" });
  writeFileSync(join(root, "products-with-3d.json"), JSON.stringify(items.map((item) => ({
    _id: item.id, Name: { Value: { en: item.name } }, Categories: [{ Name: { en: `Furniture > Seating > ${item.category}` } }],
  }))));
  for (const item of items) {
    const home = join(root, "dataset", item.id);
    mkdirSync(join(home, "images"), { recursive: true });
    const picture = join(home, "images", "view_A.jpg");
    copyFileSync(join(fixtures, "pictures", "chair.jpg"), picture);
    if (item.distinct) appendFileSync(picture, item.id);
    if (item.truth) {
      mkdirSync(join(home, "gt"), { recursive: true });
      writeFileSync(join(home, "gt", "model.glb"), item.truth);
    }
  }
  mkdirSync(join(root, "config"), { recursive: true });
  writeFileSync(join(root, "config", "adapters.yaml"), adapters);
  run("catalog", "build");
  run("batch", "create", "--run-id", "r1", "--algos", algos.join(","));
  try {
    run("run", "worker", "r1", "--yes", "--retries", "0", "--max-parallel", "8");
  } catch (error) {
    // Some jobs fail on purpose.
    if (error.status !== 1) throw error;
  }
  return run;
}

/** Reads a table, lets `change` work on its rows (objects), and writes it back. */
export function editTable(path, change) {
  const cells = [[]];
  const text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
  for (const found of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    cells.at(-1).push(found[1] === undefined ? found[2] : found[1].replaceAll('""', '"'));
    if (found[3] !== ",") cells.push([]);
  }
  const [head, ...lines] = cells.filter((line) => line.length > 1);
  const rows = lines.map((line) => Object.fromEntries(head.map((name, at) => [name, line[at] ?? ""])));
  change(rows);
  const names = [...new Set([...head, ...rows.flatMap((row) => Object.keys(row))])];
  const write = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const out = [names, ...rows.map((row) => names.map((name) => String(row[name] ?? "")))];
  writeFileSync(path, `\ufeff${out.map((line) => line.map(write).join(",")).join("\n")}\n`);
  return rows;
}
