// Judging without knowing who made what: two models, or one and "would you use it as it is?".
// Votes stay in this browser until they are saved as a file for `archi3d judge import`.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";

import type { Item, Job } from "./data";
import { itemKey, itemName } from "./data";
import { count } from "./format";
import { SourcePictures } from "./picture";
import { close, viewer } from "./stage";
import { Stand } from "./stand";
import { data, jobs } from "./state";

type Answer = "a" | "b" | "tie" | "none";

interface Vote {
  vote_id: string;
  at: string;
  judge: string;
  run_id_a: string;
  job_a: string;
  run_id_b: string;
  job_b: string;
  item: string;
  mode: string;
  side_of_a: "left" | "right";
  answer: Answer;
  ms: number;
  seed: number;
}

interface Verdict {
  accept_id: string;
  at: string;
  judge: string;
  run_id: string;
  job_id: string;
  item: string;
  accepted: "yes" | "no";
  reason: string;
}

interface Kept {
  judge: string;
  seed: number;
  votes: Vote[];
  verdicts: Verdict[];
}

const REASONS = ["geometry", "texture", "missing parts", "wrong object"];
const STORE = "archi3d-judge";
const kept = signal<Kept>(load());
const kind = signal<"pairs" | "accept">("pairs");
const mode = signal<"textured" | "clay">("textured");
const reason = signal("");
const revealed = signal<string | null>(null);
/** What was passed over; it comes again on another day. */
const skipped = signal<ReadonlySet<string>>(new Set());
const pass = (...keys: string[]) => (skipped.value = new Set([...skipped.value, ...keys]));
let shownAt = performance.now();

function load(): Kept {
  try {
    const text = localStorage.getItem(STORE);
    if (text) return JSON.parse(text) as Kept;
  } catch {
    // A browser that keeps nothing, or something that is not ours.
  }
  return { judge: "", seed: crypto.getRandomValues(new Uint32Array(1))[0]!, votes: [], verdicts: [] };
}

function keep(change: Partial<Kept>): void {
  kept.value = { ...kept.value, ...change };
  try {
    localStorage.setItem(STORE, JSON.stringify(kept.value));
  } catch {
    // Votes live as long as the page then.
  }
}

/** A number from 0 to 1 that only depends on the seed and a text. */
function chance(text: string): number {
  let hash = 2166136261 ^ kept.value.seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 2246822519);
  hash ^= hash >>> 13;
  return (hash >>> 0) / 2 ** 32;
}

const done = (): Job[] => jobs.value.filter((job) => job.state === "completed" && job.model);

interface Pair {
  a: Job;
  b: Job;
  item: Item;
  aIsLeft: boolean;
}

/** The next pair: uniform over items and pairs of algorithms, those judged least first. */
function nextPair(): Pair | null {
  const byItem = new Map<number, Job[]>();
  for (const job of done()) byItem.set(job.item, [...(byItem.get(job.item) ?? []), job]);
  const times = new Map<string, number>();
  const name = (a: Job, b: Job) => `${a.job_id} ${b.job_id}`;
  for (const vote of kept.value.votes) {
    if (vote.mode !== mode.value) continue;
    const key = `${vote.job_a} ${vote.job_b}`;
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  let best: { pair: [Job, Job]; rank: number } | null = null;
  for (const list of byItem.values()) {
    list.forEach((a, at) => {
      for (const b of list.slice(at + 1)) {
        if (skipped.value.has(name(a, b))) continue;
        const judged = times.get(name(a, b)) ?? 0;
        const rank = judged + chance(`${name(a, b)} ${judged}`);
        if (!best || rank < best.rank) best = { pair: [a, b], rank };
      }
    });
  }
  if (!best) return null;
  const [a, b] = (best as { pair: [Job, Job] }).pair;
  return { a, b, item: data.value.items[a.item]!, aIsLeft: chance(`side ${name(a, b)} ${kept.value.votes.length}`) < 0.5 };
}

function nextSingle(): Job | null {
  const judged = new Set(kept.value.verdicts.map((verdict) => `${verdict.run_id} ${verdict.job_id}`));
  const open = done().filter((job) => !judged.has(`${job.run_id} ${job.job_id}`) && !skipped.value.has(job.job_id));
  return open.reduce<Job | null>((best, job) => (!best || chance(job.job_id) < chance(best.job_id) ? job : best), null);
}

function vote(pair: Pair, answer: Answer): void {
  const { a, b, item, aIsLeft } = pair;
  keep({
    votes: [...kept.value.votes, {
      vote_id: crypto.randomUUID(), at: new Date().toISOString(), judge: kept.value.judge || "anonymous",
      run_id_a: a.run_id, job_a: a.job_id, run_id_b: b.run_id, job_b: b.job_id, item: itemKey(item), mode: mode.value,
      side_of_a: aIsLeft ? "left" : "right", answer, ms: Math.round(performance.now() - shownAt), seed: kept.value.seed,
    }],
  });
  const [left, right] = aIsLeft ? [a, b] : [b, a];
  revealed.value = `left was ${left.algo}, right was ${right.algo}`;
  shownAt = performance.now();
}

function decide(job: Job, accepted: "yes" | "no"): void {
  const item = data.value.items[job.item]!;
  keep({
    verdicts: [...kept.value.verdicts, {
      accept_id: crypto.randomUUID(), at: new Date().toISOString(), judge: kept.value.judge || "anonymous",
      run_id: job.run_id, job_id: job.job_id, item: itemKey(item), accepted, reason: accepted === "no" ? reason.value : "",
    }],
  });
  revealed.value = `that was ${job.algo}`;
  reason.value = "";
}

function undo(): void {
  if (kind.value === "pairs") keep({ votes: kept.value.votes.slice(0, -1) });
  else keep({ verdicts: kept.value.verdicts.slice(0, -1) });
  revealed.value = null;
}

export function Judge() {
  const pair = kind.value === "pairs" ? nextPair() : null;
  const single = kind.value === "accept" ? nextSingle() : null;
  // At once after drawing: a second key must not judge the pair of the first again.
  useLayoutEffect(() => {
    const keys = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey) return;
      // Space presses the button that has the focus; with Shift, arrows turn the model that has it.
      if (event.shiftKey || (event.key === " " && event.target instanceof HTMLButtonElement)) return;
      const actions: Record<string, (() => void) | undefined> = pair ? {
        ArrowLeft: () => vote(pair, pair.aIsLeft ? "a" : "b"), ArrowRight: () => vote(pair, pair.aIsLeft ? "b" : "a"),
        ArrowDown: () => vote(pair, "tie"), x: () => vote(pair, "none"), " ": () => pass(`${pair.a.job_id} ${pair.b.job_id}`),
      } : single ? { y: () => decide(single, "yes"), n: () => decide(single, "no"), " ": () => pass(single.job_id) } : {};
      const action = { ...actions, z: undo, c: () => (mode.value = mode.value === "clay" ? "textured" : "clay") }[event.key];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    };
    addEventListener("keydown", keys, true);
    return () => removeEventListener("keydown", keys, true);
  });
  useEffect(() => void viewer().then((stage) => stage.setMode(mode.value), () => undefined), [mode.value, pair?.a.job_id, pair?.b.job_id, single?.job_id]);
  useEffect(() => () => void close(), []);
  return (
    <>
      <div class="bar">
        <span role="group" aria-label="What to judge" class="choice">
          <button aria-pressed={kind.value === "pairs"} onClick={() => (kind.value = "pairs")}>Which is better?</button>
          <button aria-pressed={kind.value === "accept"} onClick={() => (kind.value = "accept")}>Would you use it?</button>
        </span>
        <span role="group" aria-label="How models are drawn" class="choice">
          {(["textured", "clay"] as const).map((one) => <button key={one} aria-pressed={mode.value === one} onClick={() => (mode.value = one)}>{one}</button>)}
        </span>
        <label class="line">Your name <input value={kept.value.judge} size={12} onInput={(event) => keep({ judge: event.currentTarget.value })} autocomplete="off" /></label>
      </div>
      {pair && <Two key={`${pair.a.job_id} ${pair.b.job_id} ${pair.aIsLeft}`} pair={pair} />}
      {single && <One key={single.job_id} job={single} />}
      {!pair && !single && <p class="empty">{kind.value === "pairs" ? "There are no two models of one item left to compare." : "Every model has your verdict."}</p>}
      <div class="bar">
        <button onClick={undo} disabled={(kind.value === "pairs" ? kept.value.votes : kept.value.verdicts).length === 0}>Undo<kbd>z</kbd></button>
        <Save />
        <span class="hint" role="status">
          {count(kept.value.votes.length, "vote")}, {count(kept.value.verdicts.length, "verdict")} in this browser{revealed.value && ` · ${revealed.value}`}
        </span>
      </div>
      <p class="hint">Names are hidden until you answer. Textured and clay are ranked apart (<kbd>c</kbd> changes), because a good texture hides a bad shape. When you are done, save the file and give it to whoever runs <code>archi3d judge import</code>.</p>
    </>
  );
}

function Two({ pair }: { pair: Pair }) {
  const [left, right] = pair.aIsLeft ? [pair.a, pair.b] : [pair.b, pair.a];
  return (
    <>
      <div class="judging">
        <figure><figcaption>Left</figcaption><Stand model={left.model!} label="the left model" keys="shift and arrow keys" /></figure>
        <SourcePictures item={pair.item} title={itemName(pair.item)} />
        <figure><figcaption>Right</figcaption><Stand model={right.model!} label="the right model" keys="shift and arrow keys" /></figure>
      </div>
      <div class="answers" role="group" aria-label="Which one is better?">
        <button onClick={() => vote(pair, pair.aIsLeft ? "a" : "b")}>Left is better<kbd>←</kbd></button>
        <button onClick={() => vote(pair, "tie")}>Equal<kbd>↓</kbd></button>
        <button onClick={() => vote(pair, "none")}>Both unusable<kbd>x</kbd></button>
        <button onClick={() => pass(`${pair.a.job_id} ${pair.b.job_id}`)}>Skip<kbd>space</kbd></button>
        <button onClick={() => vote(pair, pair.aIsLeft ? "b" : "a")}>Right is better<kbd>→</kbd></button>
      </div>
    </>
  );
}

function One({ job }: { job: Job }) {
  const item = data.value.items[job.item]!;
  return (
    <>
      <div class="judging one">
        <SourcePictures item={item} title={itemName(item)} />
        <figure><figcaption>A model of it</figcaption><Stand model={job.model!} label="the model" keys="shift and arrow keys" /></figure>
      </div>
      <div class="answers" role="group" aria-label="Would you use it as it is?">
        <button onClick={() => decide(job, "yes")}>Use it as it is<kbd>y</kbd></button>
        <button onClick={() => decide(job, "no")}>Reject<kbd>n</kbd></button>
        <label class="line">because of <select value={reason.value} onChange={(event) => (reason.value = event.currentTarget.value)}>
          <option value="">no reason</option>{REASONS.map((word) => <option key={word}>{word}</option>)}
        </select></label>
        <button onClick={() => pass(job.job_id)}>Skip<kbd>space</kbd></button>
      </div>
    </>
  );
}

function csv(rows: object[]): string {
  const first = rows[0];
  if (!first) return "";
  const cell = (value: unknown) => {
    const text = String(value);
    // A leading sign or = would be a formula to a spreadsheet.
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [Object.keys(first).join(","), ...rows.map((row) => Object.values(row).map(cell).join(","))].join("\n") + "\n";
}

/** Saves what was judged as files for `archi3d judge import`. */
function Save() {
  const save = (name: string, rows: object[]) => {
    if (rows.length === 0) return;
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob(["\ufeff", csv(rows)], { type: "text/csv" }));
    anchor.download = `${name}-${(kept.value.judge || "anonymous").replace(/[^\w-]+/g, "_")}-${new Date().toISOString().slice(0, 10)}.csv`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
  };
  const nothing = kept.value.votes.length + kept.value.verdicts.length === 0;
  return (
    <button disabled={nothing} onClick={() => {
      save("votes", kept.value.votes);
      save("accepts", kept.value.verdicts);
    }}>Save for <code>archi3d judge import</code></button>
  );
}
