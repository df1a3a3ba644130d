// One item: its pictures, the real model, and what every algorithm made of it, turning together.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import { source } from "./context";
import type { Item, Job, Model, Score } from "./data";
import { itemKey, itemName } from "./data";
import { bytes, count, fixed, seconds, usd } from "./format";
import { JobId, Reason } from "./grid";
import { SourcePictures } from "./picture";
import { FileSource } from "./source";
import { close, viewer } from "./stage";
import { Stand, chosen } from "./stand";
import { MODES, algos, choose, go, hue, jobKey, link, rows, shown, verdicts } from "./state";

const VIEWS: [string, string, number, number][] = [
  ["u", "Front", 0, 0], ["i", "Side", Math.PI / 2, 0], ["o", "Top", 0, 1.55],
];
const REAL = "real model";

const look = (yaw: number, pitch: number) => void viewer().then((stage) => stage.look(yaw, pitch), () => undefined);
const isTyping = (event: KeyboardEvent) =>
  event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey;

export function Compare() {
  const fitting = shown.value.length > 0 ? shown.value : rows.value;
  const wanted = link.value.item;
  // A product may be named without its variant.
  const found = rows.value.find((one) => itemKey(one.item) === wanted) ?? rows.value.find((one) => one.item.product_id === wanted);
  // An item that the filters leave out can still be looked at by its link.
  const order = found && !fitting.some((one) => one.index === found.index) ? rows.value : fitting;
  const row = found ?? order[0];
  const at = order.findIndex((one) => one.index === row?.index);
  const step = (by: number) => {
    const next = order[(at + by + order.length) % order.length];
    if (next) go({ item: itemKey(next.item) });
  };
  const all = rows.value.find((one) => one.index === row?.index)?.jobs;
  const { algo } = link.value.only;
  const made = algos.value.filter((one) => algo.length === 0 || algo.includes(one)).map((one) => all?.get(one)).filter((job) => job !== undefined);
  const truth = row?.item.truth ?? null;
  const canOverlay = truth !== null && made.some((job) => job.score?.pose);
  const mode = link.value.mode === "overlay" && !canOverlay ? "textured" : link.value.mode;
  // At once after drawing: a second key must not find the item of the first.
  useLayoutEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      if (event.key === "n") step(1);
      if (event.key === "p") step(-1);
      if (event.key === "0") {
        void viewer().then((stage) => stage.reset(), () => undefined);
        go(choose("algo", []));
      }
      if (event.key === "m") go({ mode: MODES[(MODES.indexOf(mode) + 1) % (canOverlay ? MODES.length : MODES.length - 1)]! });
      const view = VIEWS.find(([key]) => key === event.key);
      if (view) look(view[2], view[3]);
      // One algorithm alone, and all of them again.
      const solo = algos.value[Number(event.key) - 1];
      if (solo) go(choose("algo", algo.length === 1 && algo[0] === solo ? [] : [solo]));
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });
  useEffect(() => () => void close(), []);
  useEffect(() => {
    const load = truth && canOverlay ? () => source().model(truth) : null;
    void viewer().then((stage) => stage.setTruth(load), () => undefined);
  }, [truth?.sha256, canOverlay, chosen.value]);
  useEffect(() => void viewer().then((stage) => stage.setMode(mode), () => undefined), [mode, row]);
  if (!row) return <p class="empty">Nothing to compare.</p>;
  if (wanted && !found) return <p class="empty">There is no <bdi>{wanted}</bdi> in this run. <button class="link" onClick={() => go({ item: "" })}>Show the first</button></p>;
  const name = itemName(row.item);
  return (
    <>
      <div class="bar">
        <span class="pager">
          <button onClick={() => step(-1)} aria-label="Previous item (p)">‹</button>
          <button onClick={() => step(1)} aria-label="Next item (n)">›</button>
        </span>
        <h2><bdi>{name}</bdi> <small>{at + 1} of {order.length} · <bdi>{row.item.product_id}</bdi>{row.item.category && <> · <bdi>{row.item.category}</bdi></>}</small></h2>
      </div>
      <div class="bar tools">
        <span role="group" aria-label="How models are drawn" class="choice">
          {MODES.map((one) => (
            <button key={one} aria-pressed={mode === one} onClick={() => go({ mode: one })} disabled={one === "overlay" && !canOverlay}
              title={one === "overlay" ? "the real model in blue over each one, in the pose that its score was taken in" : undefined}>{one}</button>
          ))}
        </span>
        <span role="group" aria-label="From where" class="choice">
          {VIEWS.map(([key, word, yaw, pitch]) => <button key={key} title={`key ${key}`} onClick={() => look(yaw, pitch)}>{word}</button>)}
        </span>
        <SwipeChoice made={made} item={row.item} />
      </div>
      <PickFolder models={made} />
      <Swipe made={made} item={row.item} name={name} />
      <div class="beside">
        <SourcePictures item={row.item} title={row.item.pictures.length === 1 ? "Source picture" : "Source pictures"} />
        <div class="stands">
          {truth && (
            <figure>
              <figcaption>Real model</figcaption>
              <Stand model={truth} label={`real model of ${name}`} />
              <Facts model={truth} />
            </figure>
          )}
          {made.map((job) => <Result key={job.algo} job={job} name={name} />)}
        </div>
      </div>
      <p class="hint">Drag a model, or use the arrow keys on it, to turn all of them; + and − to come closer. n and p step through items, m changes how they are drawn, 1 to 9 show one algorithm alone, u i o look from the front, the side and the top, 0 goes back.</p>
    </>
  );
}

function Result({ job, name }: { job: Job; name: string }) {
  const verdict = verdicts.value.get(jobKey(job));
  return (
    <figure>
      <figcaption><i class="dot" style={{ background: hue(job.algo) }} /><bdi>{job.algo}</bdi>
        {verdict !== undefined && <small class={verdict ? "good" : "bad"}>{verdict ? "accepted" : "rejected"}</small>}
      </figcaption>
      {job.model ? <Stand model={job.model} label={`${name} by ${job.algo}`} score={job.score} /> : <div class="stand"><Reason job={job} /></div>}
      <p class="price"><b>{usd(job.cost_micros)}</b> {seconds(job.seconds)}{job.attempts > 1 && `, ${job.attempts} attempts`}</p>
      {job.score && <p class="numbers"><Scores score={job.score} /></p>}
      {job.measures.length > 0 && <p class="numbers">{job.measures.map((one) => <span key={one.name}><bdi>{one.name}</bdi>: <bdi>{one.value}</bdi></span>)}</p>}
      {job.model && <Facts model={job.model} />}
      <p class="hint"><JobId job={job} /></p>
    </figure>
  );
}

function Scores({ score }: { score: Score }) {
  if (score.fscore === null) return <span>no F-score: {score.error ?? score.status}</span>;
  return (
    <>
      <span><b>F {fixed(score.fscore)}</b></span>
      <span>precision {fixed(score.precision, 2)}</span>
      <span>recall {fixed(score.recall, 2)}</span>
      {score.status === "ambiguous" && <span class="bad">does not count: another pose fits{score.margin !== null && score.margin > 1 ? ` within ${((score.margin - 1) * 100).toFixed(1)} %` : " as well"}</span>}
      {score.stands === "turned" && <span>fits only when turned over</span>}
    </>
  );
}

function Facts({ model }: { model: Model }) {
  return (
    <p class="numbers">
      {model.triangles !== null && <span>{count(model.triangles, "triangle")}</span>}
      {model.vertices !== null && <span>{count(model.vertices, "vertex", "vertices")}</span>}
      {model.texture && <span>texture {model.texture[0]}×{model.texture[1]}</span>}
      {model.materials !== null && <span>{count(model.materials, "material")}</span>}
      {model.bytes > 0 && <span>{bytes(model.bytes)}</span>}
    </p>
  );
}

/** The models that can be swiped between, by who made them. */
function swipeable(made: Job[], item: Item): [string, Model][] {
  const real: [string, Model][] = item.truth ? [[REAL, item.truth]] : [];
  return [...real, ...made.flatMap((job): [string, Model][] => (job.model ? [[job.algo, job.model]] : []))];
}

function SwipeChoice({ made, item }: { made: Job[]; item: Item }) {
  const known = swipeable(made, item).map(([name]) => name);
  const [left, right] = link.value.swipe;
  if (known.length < 2) return null;
  if (!left || !right) return <button onClick={() => go({ swipe: known.slice(-2) })}>swipe between two</button>;
  const pick = (at: number) => (
    <select aria-label={at === 0 ? "Left" : "Right"} value={link.value.swipe[at]} onChange={(event) => {
      const swipe = [left, right];
      swipe[at] = event.currentTarget.value;
      go({ swipe });
    }}>{known.map((name) => <option key={name}>{name}</option>)}</select>
  );
  return <span class="line">{pick(0)} {pick(1)} <button onClick={() => go({ swipe: [] })}>end swiping</button></span>;
}

function Swipe({ made, item, name }: { made: Job[]; item: Item; name: string }) {
  const [share, setShare] = useState(50);
  const known = new Map(swipeable(made, item));
  const [left, right] = link.value.swipe;
  const [first, second] = [known.get(left ?? ""), known.get(right ?? "")];
  if (!left || !right) return null;
  if (!first || !second) return <p class="hint">{first ? right : left} has no model of this item.</p>;
  return (
    <figure class="swipe">
      <div class="both" style={{ "--share": `${share}%` }}>
        <Stand key={`l${left}${first.sha256}`} model={first} label={`${name}: ${left}`} />
        <Stand key={`r${right}${second.sha256}`} model={second} label={`${name}: ${right}`} />
      </div>
      <label class="line"><bdi>{left}</bdi>
        <input type="range" min="0" max="100" value={share} aria-label="How much of the left one is shown" onInput={(event) => setShare(event.currentTarget.valueAsNumber)} />
        <bdi>{right}</bdi></label>
    </figure>
  );
}

/** Offers the workspace's own files where a report holds only pictures. */
function PickFolder({ models }: { models: Job[] }) {
  const [found, setFound] = useState<number | null>(null);
  const current = source();
  if (!(current instanceof FileSource) || models.every((job) => !job.model || job.model.payload || !job.model.sha256)) return null;
  return (
    <p class="pick">
      <label>Not every model is inside this report. <span>Choose the workspace folder to see all of them in 3D:</span>{" "}
        <input type="file" ref={(input) => input?.setAttribute("webkitdirectory", "")} onChange={(event) => {
          if (!event.currentTarget.files) return;
          setFound(current.pick(event.currentTarget.files));
          chosen.value += 1;
        }} />
      </label>
      <small>{found === null ? "It is read here and copied nowhere." : found === 0 ? "There are no models in that folder." : `${count(found, "model")} found.`}</small>
    </p>
  );
}
