// Two runs beside each other.

import type { Job } from "./data";
import { itemKey, itemName } from "./data";
import { count, fixed, seconds, usd } from "./format";
import { Cell } from "./grid";
import { algos, data, go, run } from "./state";

type Change = "new" | "gone" | "newly failed" | "repaired" | "changed" | "same";

interface Compared {
  before: Job | undefined;
  now: Job | undefined;
  change: Change;
}

function judge(before: Job | undefined, now: Job | undefined): Change {
  if (!before) return "new";
  if (!now) return "gone";
  if (before.state === "completed" && now.state === "failed") return "newly failed";
  if (before.state === "failed" && now.state === "completed") return "repaired";
  return before.model?.sha256 === now.model?.sha256 && before.state === now.state ? "same" : "changed";
}

function compare(): Compared[] {
  const { jobs, against } = data.value;
  const key = (job: Job) => `${job.item} ${job.algo}`;
  const before = new Map(jobs.filter((job) => job.run_id === against).map((job) => [key(job), job]));
  const now = new Map(jobs.filter((job) => job.run_id === run.value).map((job) => [key(job), job]));
  return [...new Set([...before.keys(), ...now.keys()])].map((one) => ({
    before: before.get(one), now: now.get(one), change: judge(before.get(one), now.get(one)),
  }));
}

export function Diff() {
  const { against, items } = data.value;
  if (!against) return <p class="empty">Build the report with <code>--against RUN</code> to compare two runs.</p>;
  const all = compare();
  const changed = all.filter((one) => one.change !== "same");
  const counts = new Map<Change, number>();
  for (const one of all) counts.set(one.change, (counts.get(one.change) ?? 0) + 1);
  return (
    <>
      <p class="lead">{run.value} against {against}: {[...counts].map(([change, jobs]) => `${jobs} ${change}`).join(", ")}.</p>
      <div class="scroll">
        <table class="results">
          <caption class="visually-hidden">Jobs that differ between the two runs</caption>
          <thead><tr><th scope="col">Item</th><th scope="col">Algorithm</th><th scope="col">{against}</th><th scope="col">{run.value}</th><th scope="col">Difference</th></tr></thead>
          <tbody>
            {changed.slice(0, 400).map(({ before, now, change }) => {
              const job = (now ?? before)!;
              const item = items[job.item]!;
              return (
                <tr key={`${job.item} ${job.algo}`}>
                  <th scope="row"><button class="link" onClick={() => go({ screen: "compare", item: itemKey(item) })}>{itemName(item)}</button></th>
                  <td>{job.algo}</td>
                  <td><Cell job={before} name={itemName(item)} /></td>
                  <td><Cell job={now} name={itemName(item)} /></td>
                  <td><strong>{change}</strong><Gaps before={before} now={now} /></td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {changed.length > 400 && <p class="hint">{count(changed.length - 400, "further difference")} not shown.</p>}
      {algos.value.length === 0 && <p class="empty">No jobs to compare.</p>}
    </>
  );
}

function Gaps({ before, now }: { before: Job | undefined; now: Job | undefined }) {
  if (!before || !now) return null;
  const gap = (value: (job: Job) => number | null, format: (value: number) => string) => {
    const [a, b] = [value(before), value(now)];
    if (a === null || b === null || a === b) return null;
    return `${b > a ? "+" : "−"}${format(Math.abs(b - a))}`;
  };
  const parts = [gap((job) => job.cost_micros, usd), gap((job) => job.seconds, seconds), gap((job) => job.score?.fscore ?? null, (value) => `F ${fixed(value)}`)];
  return <p class="numbers">{parts.filter(Boolean).map((part) => <span key={part}>{part}</span>)}</p>;
}
