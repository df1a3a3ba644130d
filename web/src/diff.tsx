// Two runs beside each other.

import { useEffect, useState } from "preact/hooks";

import type { Job } from "./data";
import { itemName } from "./data";
import { count, fixed, seconds, signed, usd } from "./format";
import { Numbers, Reason } from "./grid";
import { Poster } from "./poster";
import { close } from "./stage";
import { Stand } from "./stand";
import { data, go, link, run } from "./state";

const CHANGES = ["newly failed", "repaired", "another model", "same model", "not ended", "only rehearsed", "only now", "only before"] as const;
type Change = (typeof CHANGES)[number];

interface Compared {
  key: string;
  before: Job | undefined;
  now: Job | undefined;
  change: Change;
  /** The one side that is missing was only rehearsed. */
  rehearsed: boolean;
}

function judge(before: Job | undefined, now: Job | undefined): Change {
  if (!before) return "only now";
  if (!now) return "only before";
  const [was, is] = [before.state, now.state];
  if (was === "completed" && is === "failed") return "newly failed";
  if (was === "failed" && is === "completed") return "repaired";
  if (was === "completed" && is === "completed") return before.model?.sha256 === now.model?.sha256 ? "same model" : "another model";
  return was === is && is === "failed" ? "same model" : "not ended";
}

function compare(): Compared[] {
  const { jobs, against } = data.value;
  const key = (job: Job) => `${job.item} ${job.algo}`;
  const before = new Map(jobs.filter((job) => job.run_id === against).map((job) => [key(job), job]));
  const now = new Map(jobs.filter((job) => job.run_id === run.value).map((job) => [key(job), job]));
  const { items, rehearsed } = data.value;
  const name = (run: string | null, product: string, variant: string, algo: string) => JSON.stringify([run, product, variant, algo]);
  const only = new Set(rehearsed.map((one) => name(one.run_id, one.product_id, one.variant, one.algo)));
  const all = [...new Set([...before.keys(), ...now.keys()])].map((one) => {
    const [was, is] = [before.get(one), now.get(one)];
    const job = (was ?? is)!;
    const item = items[job.item]!;
    const missing = was && is ? false : only.has(name(was ? run.value : against, item.product_id, item.variant, job.algo));
    return { key: one, before: was, now: is, rehearsed: missing, change: missing ? "only rehearsed" as const : judge(was, is) };
  });
  return all.sort((a, b) => CHANGES.indexOf(a.change) - CHANGES.indexOf(b.change));
}

const PAGE = 40;

export function Diff() {
  const [limit, setLimit] = useState(PAGE);
  const [opened, setOpened] = useState("");
  useEffect(() => () => void close(), []);
  const { against } = data.value;
  if (!against) return <p class="empty">Build the report with <code>--against RUN</code> to compare two runs.</p>;
  const all = compare();
  const counts = new Map<Change, number>();
  for (const one of all) counts.set(one.change, (counts.get(one.change) ?? 0) + 1);
  const wanted = link.value.change;
  const list = all.filter((one) => (wanted ? one.change === wanted : one.change !== "same model"));
  const spent = (jobs: (Job | undefined)[]) => jobs.reduce((sum, job) => sum + (job?.cost_micros ?? 0), 0);
  const common = all.filter((one) => one.before && one.now);
  const empty = [against, run.value].filter((one) => !data.value.jobs.some((job) => job.run_id === one));
  return (
    <>
      <p class="lead"><bdi>{run.value}</bdi> against <bdi>{against}</bdi></p>
      <p class="sub">{count(common.length, "job")} in both: {usd(spent(common.map((one) => one.now)))} now, {usd(spent(common.map((one) => one.before)))} before.</p>
      {empty.map((one) => <p key={one} class="sub">Nothing of <bdi>{one}</bdi> was really carried out{data.value.rehearsed.some((job) => job.run_id === one) && ": it was only rehearsed, and rehearsals never count"}.</p>)}
      <span role="group" aria-label="Which differences" class="choice">
        <button aria-pressed={!wanted} onClick={() => go({ change: "" })}>all that differs</button>
        {CHANGES.filter((change) => counts.has(change)).map((change) => (
          <button key={change} aria-pressed={wanted === change} onClick={() => go({ change })}>{change} <small>{counts.get(change)}</small></button>
        ))}
      </span>
      {list.length === 0 && <p class="empty">Nothing differs.</p>}
      <ul class="differences">
        {list.slice(0, limit).map((one) => <Difference key={one.key} one={one} against={against} open={opened === one.key} onOpen={() => setOpened(opened === one.key ? "" : one.key)} />)}
      </ul>
      {list.length > limit && <button onClick={() => setLimit(limit + PAGE)}>show {Math.min(PAGE, list.length - limit)} more of {list.length - limit}</button>}
    </>
  );
}

function Difference({ one, against, open, onOpen }: { one: Compared; against: string; open: boolean; onOpen: () => void }) {
  const job = (one.now ?? one.before)!;
  const name = itemName(data.value.items[job.item]!);
  const side = (run: string, of: Job | undefined) => (
    <figure>
      <figcaption><bdi>{run}</bdi></figcaption>
      {!of ? <div class="poster none"><span class="note only">{one.rehearsed ? "only rehearsed" : "not in this run"}</span></div>
        : !of.model ? <Reason job={of} />
        : open ? <Stand model={of.model} label={`${name} in ${run}`} />
        : <Poster model={of.model} alt={`${name} in ${run}`} onOpen={onOpen} />}
      {of && <Numbers job={of} />}
    </figure>
  );
  return (
    <li class={open ? "open" : ""}>
      <div>
        <h3><bdi>{name}</bdi></h3>
        <p><bdi>{job.algo}</bdi></p>
        <p class={`change ${one.change === "newly failed" ? "bad" : one.change === "repaired" ? "good" : ""}`}>{one.change}</p>
        <Gaps before={one.before} now={one.now} />
        {(one.before?.model || one.now?.model) && <button class="link" onClick={onOpen}>{open ? "back to pictures" : "see in 3D"}</button>}
      </div>
      {side(against, one.before)}
      {side(run.value, one.now)}
    </li>
  );
}

function Gaps({ before, now }: { before: Job | undefined; now: Job | undefined }) {
  if (!before || !now) return null;
  const gap = (value: (job: Job) => number | null, format: (gap: number) => string) => {
    const [a, b] = [value(before), value(now)];
    return a === null || b === null || a === b ? null : format(b - a);
  };
  const parts = [
    gap((job) => job.cost_micros, (by) => `${signed(by, usd)} ${by > 0 ? "more expensive" : "cheaper"}`),
    gap((job) => job.seconds, (by) => `${signed(by, seconds)} ${by > 0 ? "slower" : "faster"}`),
    gap((job) => job.score?.fscore ?? null, (by) => `F ${signed(by, (size) => fixed(size))}`),
  ];
  return <p class="numbers">{parts.filter((part) => part !== null).map((part) => <span key={part}>{part}</span>)}</p>;
}
