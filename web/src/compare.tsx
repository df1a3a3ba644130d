// One item: its pictures, the real model, and what every algorithm made of it, turning together.

import { useEffect } from "preact/hooks";

import { FileSource } from "./source";
import { source } from "./context";
import type { Job, Model } from "./data";
import { itemKey, itemName } from "./data";
import { bytes, count, fixed, seconds, usd } from "./format";
import { close, viewer } from "./stage";
import { Stand } from "./stand";
import { MODES, algos, go, link, rows, shown } from "./state";
import type { Mode } from "./state";

const VIEW_KEYS: [string, string, number, number][] = [
  ["1", "Front", 0, 0], ["2", "Side", Math.PI / 2, 0], ["3", "Top", 0, 1.55],
];

export function Compare() {
  const order = shown.value.length > 0 ? shown.value : rows.value;
  const at = Math.max(0, order.findIndex((row) => itemKey(row.item) === link.value.item));
  const row = order[at] && itemKey(order[at].item) === link.value.item ? order[at] : rows.value.find((one) => itemKey(one.item) === link.value.item) ?? order[0];
  const step = (by: number) => {
    const next = order[(at + by + order.length) % order.length];
    if (next) go({ item: itemKey(next.item) });
  };
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n") step(1);
      if (event.key === "p") step(-1);
      const view = VIEW_KEYS.find(([key]) => key === event.key);
      if (view) void viewer().then((stage) => stage.look(view[2], view[3]), () => undefined);
      if (event.key === "0") void viewer().then((stage) => stage.reset(), () => undefined);
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });
  useEffect(() => () => void close(), []);
  useEffect(() => void viewer().then((stage) => stage.setMode(link.value.mode), () => undefined), [link.value.mode, row]);
  if (!row) return <p class="empty">Nothing to compare.</p>;
  const name = itemName(row.item);
  const models = algos.value.map((algo) => row.jobs.get(algo) ?? rows.value.find((one) => one.index === row.index)?.jobs.get(algo)).filter((job) => job !== undefined);
  return (
    <>
      <div class="bar">
        <button onClick={() => step(-1)} aria-label="Previous item (p)">‹</button>
        <h2>{name} <small>{row.item.product_id}</small></h2>
        <button onClick={() => step(1)} aria-label="Next item (n)">›</button>
        <span role="group" aria-label="How models are drawn" class="modes">
          {MODES.map((mode) => (
            <button key={mode} aria-pressed={link.value.mode === mode} onClick={() => go({ mode: mode as Mode })}
              disabled={mode === "overlay" && !models.some((job) => job.score?.pose)}>{mode}</button>
          ))}
        </span>
        <span role="group" aria-label="From where" class="modes">
          {VIEW_KEYS.map(([key, word, yaw, pitch]) => (
            <button key={key} onClick={() => void viewer().then((stage) => stage.look(yaw, pitch), () => undefined)}>{word}</button>
          ))}
        </span>
        <PickFolder models={models} />
      </div>
      <p class="hint">Drag to turn all models together, arrow keys on a model too; n and p step through items, 1 2 3 for front, side, top.</p>
      <div class="stands">
        <figure class="sources">
          <figcaption>Source {row.item.pictures.length === 1 ? "picture" : "pictures"}</figcaption>
          {row.item.pictures.map((picture) => <img key={picture.sha256} src={source().picture(picture.sha256)} alt={picture.name} />)}
          {row.item.pictures.length === 0 && <p class="no-poster">the pictures are missing</p>}
        </figure>
        {row.item.truth && (
          <figure>
            <figcaption>Real model</figcaption>
            <Stand model={row.item.truth} label={`real model of ${name}`} />
            <Facts model={row.item.truth} />
          </figure>
        )}
        {models.map((job) => (
          <figure key={job.algo}>
            <figcaption>{job.algo}</figcaption>
            {job.model ? <Stand model={job.model} label={`${name} by ${job.algo}`} truth={row.item.truth} score={job.score} /> : <Failed job={job} />}
            <p class="numbers"><span>{usd(job.cost_micros)}</span><span>{seconds(job.seconds)}</span>
              {job.score && <span>{job.score.status === "ok" ? `F ${fixed(job.score.fscore)}` : `F-score: ${job.score.status}`}</span>}</p>
            {job.model && <Facts model={job.model} />}
            <p class="hint"><code>{job.job_id}</code></p>
          </figure>
        ))}
      </div>
    </>
  );
}

function Failed({ job }: { job: Job }) {
  return (
    <div class="no-poster failure large">
      <strong>{job.state === "failed" ? job.error_class ?? "failed" : job.state}</strong>
      {job.error && <span>{job.error}</span>}
    </div>
  );
}

function Facts({ model }: { model: Model }) {
  return (
    <p class="numbers">
      <span>{count(model.triangles, "triangle")}</span>
      <span>{count(model.vertices, "vertex", "vertices")}</span>
      {model.texture && <span>{model.texture[0]}×{model.texture[1]} px</span>}
      <span>{count(model.materials, "material")}</span>
      <span>{bytes(model.bytes)}</span>
    </p>
  );
}

/** Offers the workspace's own files where a report holds only pictures. */
function PickFolder({ models }: { models: Job[] }) {
  const current = source();
  if (!(current instanceof FileSource) || models.every((job) => !job.model || job.model.payload)) return null;
  return (
    <label class="pick">
      Choose the workspace folder to see every model in 3D
      <input type="file" ref={(input) => input?.setAttribute("webkitdirectory", "")} onChange={(event) => {
        if (event.currentTarget.files) current.pick(event.currentTarget.files);
        go({});
      }} />
    </label>
  );
}
