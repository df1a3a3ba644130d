// Judging without knowing who made what: two models, or one and "would you use it as it is?".
// Votes stay in this browser until they are saved as a file for `archi3d judge import`, or go to the service at once.

import { computed, signal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";

import type { Item, Job } from "./data";
import { itemKey, itemName } from "./data";
import { count, unique } from "./format";
import { SourcePictures } from "./picture";
import { close, viewer } from "./stage";
import { Stand } from "./stand";
import { data, jobs, run } from "./state";

type Answer = "a" | "b" | "tie" | "none";
/** The answer of a row that takes back what was saved before. */
const WITHDRAWN = "withdrawn";

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
  answer: Answer | typeof WITHDRAWN;
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
  accepted: "yes" | "no" | typeof WITHDRAWN;
  reason: string;
}

/** What one judge said of one run. */
interface Book {
  seed: number;
  votes: Vote[];
  verdicts: Verdict[];
  /** How many of each have left as a file: these are taken back by another row. */
  saved?: { votes: number; verdicts: number };
}

/** What a browser keeps of one run: who judges now, and what each judge said. */
interface Kept {
  judge: string;
  books: Record<string, Book>;
}

/** Takes what was said, where there is a service. */
export const desk: { send: ((votes: object[], verdicts: object[]) => Promise<unknown>) | null } = { send: null };
/** Why the last words did not arrive. */
const unsent = signal("");

const REASONS = ["geometry", "texture", "missing parts", "wrong object"];
/** Runs of other workspaces may have the same name, but were not made at the same moment. */
const place = computed(() => `archi3d-judge ${run.value} ${data.value.runs.find((known) => known.run_id === run.value)?.created_at ?? ""}`);
const memory = signal<Record<string, Kept>>({});
const kept = computed<Kept>(() => memory.value[place.value] ?? load(place.value));
const judge = computed(() => kept.value.judge);
const blank = computed<Book>(() => ({ seed: judge.value ? crypto.getRandomValues(new Uint32Array(1))[0]! : 0, votes: [], verdicts: [] }));
const book = computed<Book>(() => (Object.hasOwn(kept.value.books, judge.value) ? kept.value.books[judge.value]! : blank.value));
/** Whether somebody answered without having said who they are. */
const unnamed = signal(false);
const kind = signal<"pairs" | "accept">("pairs");
const mode = signal<"textured" | "clay">("textured");
const reason = signal("");
const revealed = signal<string | null>(null);
/** What was passed over; it comes again on another day. */
const skipped = signal<ReadonlySet<string>>(new Set());
const pass = (...keys: string[]) => (skipped.value = new Set([...skipped.value, ...keys]));
let shownAt = performance.now();

function load(key: string): Kept {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "null") as Kept | null;
    if (typeof found?.judge === "string" && found.books) return found;
  } catch {
    // A browser that keeps nothing, or something that is not ours.
  }
  return { judge: "", books: {} };
}

function keep(change: Partial<Kept>): void {
  const next = { ...kept.value, ...change };
  memory.value = { ...memory.value, [place.value]: next };
  try {
    localStorage.setItem(place.value, JSON.stringify(next));
  } catch {
    // Votes live as long as the page then.
  }
}

const write = (change: Partial<Book>): void => keep({ books: { ...kept.value.books, [judge.value]: { ...book.value, ...change } } });

function say(change: Partial<Book>): void {
  write(change);
  if (desk.send) void send(desk.send);
}

/** Sends what the service does not have. What is on its way counts as sent: it is taken back by another row. */
async function send(post: (votes: object[], verdicts: object[]) => Promise<unknown>): Promise<void> {
  const [{ votes, verdicts }, saved, by, where] = [book.value, book.value.saved ?? { votes: 0, verdicts: 0 }, judge.value, place.value];
  write({ saved: { votes: votes.length, verdicts: verdicts.length } });
  try {
    await post(votes.slice(saved.votes), verdicts.slice(saved.verdicts));
    unsent.value = "";
  } catch (error) {
    unsent.value = error instanceof Error ? error.message : String(error);
    // The same rows again are harmless: each has a name of its own.
    if (judge.value === by && place.value === where) write({ saved });
  }
}

/** Another name is another judge, who has said nothing yet. */
function rename(name: string): void {
  keep({ judge: name.trim() });
  unnamed.value = false;
  revealed.value = null;
  skipped.value = new Set();
}

/** Tells whether the judge is known; else asks for the name. */
function isNamed(): boolean {
  unnamed.value = !judge.value;
  if (unnamed.value) document.getElementById("judge-name")?.focus();
  return !unnamed.value;
}

/** A number from 0 to 1 that only depends on the seed and a text. */
function chance(text: string): number {
  let hash = 2166136261 ^ book.value.seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 2246822519);
  hash ^= hash >>> 13;
  return (hash >>> 0) / 2 ** 32;
}

const aboutVote = (one: Vote) => `${[one.job_a, one.job_b].sort().join(" ")} ${one.mode}`;
const aboutVerdict = (one: Verdict) => `${one.run_id} ${one.job_id}`;

/** The last word on each thing, but for what was taken back. */
function standing<T>(rows: T[], thing: (row: T) => string, isBack: (row: T) => boolean): T[] {
  const last = new Map(rows.map((row) => [thing(row), row]));
  return rows.filter((row) => last.get(thing(row)) === row && !isBack(row));
}
const votes = computed(() => standing(book.value.votes, aboutVote, (one) => one.answer === WITHDRAWN));
const verdicts = computed(() => standing(book.value.verdicts, aboutVerdict, (one) => one.accepted === WITHDRAWN));

const done = (): Job[] => jobs.value.filter((job) => job.state === "completed" && job.model);

interface Pair {
  a: Job;
  b: Job;
  item: Item;
  aIsLeft: boolean;
}

/** The next pair that is not judged yet: uniform over items and pairs of algorithms. */
function nextPair(): Pair | null {
  const byItem = new Map<number, Job[]>();
  for (const job of done()) byItem.set(job.item, [...(byItem.get(job.item) ?? []), job]);
  const name = (a: Job, b: Job) => `${a.job_id} ${b.job_id}`;
  const judged = new Set(votes.value.filter((one) => one.mode === mode.value).flatMap((one) => [`${one.job_a} ${one.job_b}`, `${one.job_b} ${one.job_a}`]));
  let best: { pair: [Job, Job]; rank: number } | null = null;
  for (const list of byItem.values()) {
    list.forEach((a, at) => {
      for (const b of list.slice(at + 1)) {
        if (skipped.value.has(name(a, b)) || judged.has(name(a, b))) continue;
        const rank = chance(name(a, b));
        if (!best || rank < best.rank) best = { pair: [a, b], rank };
      }
    });
  }
  if (!best) return null;
  const [a, b] = (best as { pair: [Job, Job] }).pair;
  return { a, b, item: data.value.items[a.item]!, aIsLeft: chance(`side ${name(a, b)} ${book.value.votes.length}`) < 0.5 };
}

function nextSingle(): Job | null {
  const judged = new Set(verdicts.value.map(aboutVerdict));
  const open = done().filter((job) => !judged.has(`${job.run_id} ${job.job_id}`) && !skipped.value.has(job.job_id));
  return open.reduce<Job | null>((best, job) => (!best || chance(job.job_id) < chance(best.job_id) ? job : best), null);
}

function vote(pair: Pair, answer: Answer): void {
  if (!isNamed()) return;
  const { a, b, item, aIsLeft } = pair;
  say({
    votes: [...book.value.votes, {
      vote_id: unique(), at: new Date().toISOString(), judge: judge.value,
      run_id_a: a.run_id, job_a: a.job_id, run_id_b: b.run_id, job_b: b.job_id, item: itemKey(item), mode: mode.value,
      side_of_a: aIsLeft ? "left" : "right", answer, ms: Math.round(performance.now() - shownAt), seed: book.value.seed,
    }],
  });
  const [left, right] = aIsLeft ? [a, b] : [b, a];
  revealed.value = `left was ${left.algo}, right was ${right.algo}`;
  shownAt = performance.now();
}

function decide(job: Job, accepted: "yes" | "no"): void {
  if (!isNamed()) return;
  const item = data.value.items[job.item]!;
  say({
    verdicts: [...book.value.verdicts, {
      accept_id: unique(), at: new Date().toISOString(), judge: judge.value,
      run_id: job.run_id, job_id: job.job_id, item: itemKey(item), accepted, reason: accepted === "no" ? reason.value : "",
    }],
  });
  revealed.value = `that was ${job.algo}`;
  reason.value = "";
}

function undo(): void {
  if (!judge.value) return;
  const saved = book.value.saved ?? { votes: 0, verdicts: 0 };
  const [id, at] = [unique(), new Date().toISOString()];
  const [vote, verdict] = [votes.value.at(-1), verdicts.value.at(-1)];
  if (kind.value === "pairs" && vote) {
    say({ votes: without(book.value.votes, vote, saved.votes, { ...vote, vote_id: id, at, answer: WITHDRAWN }) });
  } else if (kind.value === "accept" && verdict) {
    say({ verdicts: without(book.value.verdicts, verdict, saved.verdicts, { ...verdict, accept_id: id, at, accepted: WITHDRAWN, reason: "" }) });
  }
  revealed.value = null;
}

/** Drops a row that nobody has; what has left as a file is taken back by another row. */
function without<T>(rows: T[], row: T, saved: number, back: T): T[] {
  return rows.indexOf(row) < saved ? [...rows, back] : rows.filter((other) => other !== row);
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
        <label class="line">Your name <input id="judge-name" value={judge.value} size={12} onChange={(event) => {
          rename(event.currentTarget.value);
          // Keys answer from here on.
          event.currentTarget.blur();
        }} autocomplete="off" /></label>
        {unnamed.value && <span class="bad" role="alert">Say who you are first; what you answer then counts as yours.</span>}
      </div>
      {pair && <Two key={`${pair.a.job_id} ${pair.b.job_id} ${pair.aIsLeft}`} pair={pair} />}
      {single && <One key={single.job_id} job={single} />}
      {!pair && !single && <p class="empty">{kind.value === "pairs" ? `There are no two models of one item left to compare as ${mode.value}.` : "Every model has your verdict."}</p>}
      <div class="bar">
        <button onClick={undo} disabled={(kind.value === "pairs" ? votes.value : verdicts.value).length === 0}>Undo<kbd>z</kbd></button>
        {!desk.send && <Save />}
        <span class="hint" role="status">
          {count(votes.value.length, "vote")}, {count(verdicts.value.length, "verdict")}{judge.value && <> by <bdi>{judge.value}</bdi></>} {desk.send ? "from this browser" : "in this browser"}{revealed.value && ` · ${revealed.value}`}
        </span>
        {unsent.value && <span class="bad" role="alert">Not all of them have arrived ({unsent.value}); they are kept here and sent with the next one.</span>}
      </div>
      <p class="hint">Names are hidden until you answer. Textured and clay are ranked apart (<kbd>c</kbd> changes), because a good texture hides a bad shape. {desk.send ? <>Each answer goes into the tables of the workspace at once; <code>archi3d judge rank</code> says what they come to.</> : <>What you undo after saving is taken back by the next file. When you are done, save the file and give it to whoever runs <code>archi3d judge import</code>.</>}</p>
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
    anchor.download = `${name}-${judge.value.replace(/[^\p{L}\p{N}_-]+/gu, "_")}-${new Date().toISOString().slice(0, 10)}.csv`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
  };
  const nothing = book.value.votes.length + book.value.verdicts.length === 0;
  return (
    <button disabled={nothing} onClick={() => {
      save("votes", book.value.votes);
      save("accepts", book.value.verdicts);
      write({ saved: { votes: book.value.votes.length, verdicts: book.value.verdicts.length } });
    }}>Save for <code>archi3d judge import</code></button>
  );
}
