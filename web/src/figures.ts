// Figures per algorithm and between algorithms, from the jobs of one run.

import type { Data, Job } from "./data";
import { paired, quantile, wilson } from "./stats";
import type { Paired } from "./stats";

export interface Figures {
  algo: string;
  jobs: number;
  done: number;
  failed: number;
  success: number;
  interval: [number, number];
  medianSeconds: number | null;
  p95Seconds: number | null;
  /** The median price of a finished job. */
  eachMicros: number | null;
  /** Everything spent on it, failures and retries too. */
  spentMicros: number;
  reservedMicros: number;
  perSuccessMicros: number | null;
  judged: number;
  accepted: number;
  perAcceptedMicros: number | null;
  medianScore: number | null;
  scored: number;
}

export function figures(data: Data, run: string, algo: string, jobs: Job[]): Figures {
  const own = jobs.filter((job) => job.algo === algo);
  const done = own.filter((job) => job.state === "completed");
  const failed = own.filter((job) => job.state === "failed");
  const ended = done.length + failed.length;
  const costs = data.costs.filter((cost) => cost.run_id === run && cost.algo === algo);
  const spentMicros = costs.reduce((sum, cost) => sum + cost.spent_micros, 0);
  const times = values(done, (job) => job.seconds);
  const scores = values(done, (job) => (job.score?.status === "ok" ? job.score.fscore : null));
  const verdicts = majority(data, own);
  const accepted = [...verdicts.values()].filter(Boolean).length;
  // What was accepted of what was judged stands for what was not.
  const expected = verdicts.size > 0 ? (accepted / verdicts.size) * done.length : 0;
  return {
    algo,
    jobs: own.length,
    done: done.length,
    failed: failed.length,
    success: ended > 0 ? done.length / ended : 0,
    interval: wilson(done.length, ended),
    medianSeconds: quantile(times, 0.5),
    p95Seconds: quantile(times, 0.95),
    eachMicros: quantile(values(done, (job) => job.cost_micros), 0.5),
    spentMicros,
    reservedMicros: costs.reduce((sum, cost) => sum + cost.reserved_micros, 0),
    perSuccessMicros: done.length > 0 ? spentMicros / done.length : null,
    judged: verdicts.size,
    accepted,
    perAcceptedMicros: expected > 0 ? spentMicros / expected : null,
    medianScore: quantile(scores, 0.5),
    scored: scores.length,
  };
}

function values(jobs: Job[], value: (job: Job) => number | null): number[] {
  return jobs.map(value).filter((found) => found !== null);
}

/** What most judges say of each job; a tie is no acceptance. */
function majority(data: Data, jobs: Job[]): Map<string, boolean> {
  const votes = new Map<string, number>();
  const own = new Set(jobs.map((job) => job.job_id));
  const run = jobs[0]?.run_id;
  for (const accept of data.accepts) {
    if (accept.run_id !== run || !own.has(accept.job_id)) continue;
    votes.set(accept.job_id, (votes.get(accept.job_id) ?? 0) + (accept.accepted ? 1 : -1));
  }
  return new Map([...votes].map(([job, sum]) => [job, sum > 0]));
}

export interface Difference {
  first: string;
  second: string;
  of: "price" | "time" | "score";
  test: Paired;
}

/** Compares algorithms over the items that both finished. */
export function differences(jobs: Job[], algos: string[]): Difference[] {
  const byAlgo = new Map(algos.map((algo) => [algo, new Map<number, Job>()]));
  for (const job of jobs) if (job.state === "completed") byAlgo.get(job.algo)?.set(job.item, job);
  const measures: [Difference["of"], (job: Job) => number | null][] = [
    ["price", (job) => job.cost_micros],
    ["time", (job) => job.seconds],
    ["score", (job) => (job.score?.status === "ok" ? job.score.fscore : null)],
  ];
  const found: Difference[] = [];
  algos.forEach((first, at) => {
    for (const second of algos.slice(at + 1)) {
      for (const [of, value] of measures) {
        const gaps: number[] = [];
        for (const [item, job] of byAlgo.get(first) ?? []) {
          const other = byAlgo.get(second)?.get(item);
          const [a, b] = [value(job), other ? value(other) : null];
          if (a !== null && b !== null) gaps.push(a - b);
        }
        const test = paired(gaps);
        if (test) found.push({ first, second, of, test });
      }
    }
  });
  return found;
}

export interface FailureGroup {
  class: string;
  message: string;
  jobs: Job[];
}

/** Groups failures by class and message, numbers and ids in the text left out. */
export function failureGroups(jobs: Job[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const job of jobs) {
    if (job.state !== "failed") continue;
    const message = (job.error ?? "no reason recorded").replace(/[0-9a-f]{8,}|\d+/gi, "…");
    const key = `${job.error_class ?? ""}\n${message}`;
    const group = groups.get(key) ?? { class: job.error_class ?? "unclassified", message: job.error ?? message, jobs: [] };
    group.jobs.push(job);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}
