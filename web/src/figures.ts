// Figures per algorithm and between algorithms, from the jobs of one run.

import type { Data, Job } from "./data";
import { jobKey } from "./state";
import { holm, paired, quantile, wilson } from "./stats";
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
  /** Attempts that may have been billed with nobody knows what. */
  unknown: number;
  /** What a model costs: the least it may, if attempts are `unknown`, and null if nothing is known. */
  perSuccessMicros: number | null;
  judged: number;
  accepted: number;
  perAcceptedMicros: number | null;
  medianScore: number | null;
  scored: number;
  /** Scores that do not count, by why. */
  unscored: Record<string, number>;
  /** What programs of the workspace measured in numbers, by name. */
  measures: { name: string; median: number; of: number }[];
}

/** Sums one algorithm up over the jobs given; `whole` says that these are all of the run, so that
 * its money is what `cost report` says, whoever it was spent on. */
export function figures(data: Data, run: string, algo: string, jobs: Job[], verdicts: Map<string, boolean>, whole: boolean): Figures {
  const own = jobs.filter((job) => job.algo === algo);
  const done = own.filter((job) => job.state === "completed");
  const failed = own.filter((job) => job.state === "failed");
  const ended = done.length + failed.length;
  const costs = whole ? data.costs.filter((cost) => cost.run_id === run && cost.algo === algo) : [];
  const spentMicros = whole
    ? costs.reduce((sum, cost) => sum + cost.spent_micros, 0)
    : own.reduce((sum, job) => sum + (job.cost_micros ?? 0), 0);
  const times = values(done, (job) => job.seconds);
  const scores = values(done, scoreOf);
  const judged = values(done, (job) => {
    const verdict = verdicts.get(jobKey(job));
    return verdict === undefined ? null : Number(verdict);
  });
  const counted = costs.reduce((sum, cost) => sum + cost.unknown, 0);
  const unknown = Math.max(counted, own.filter((job) => job.cost_micros === null && (job.state === "completed" || job.error_class === "unknown")).length);
  const per = (models: number) => (models > 0 && (unknown === 0 || spentMicros > 0) ? spentMicros / models : null);
  const accepted = judged.reduce((sum, one) => sum + one, 0);
  // What was accepted of what was judged stands for what was not.
  const expected = judged.length > 0 ? (accepted / judged.length) * done.length : 0;
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
    unknown,
    perSuccessMicros: per(done.length),
    judged: judged.length,
    accepted,
    perAcceptedMicros: per(expected),
    medianScore: quantile(scores, 0.5),
    scored: scores.length,
    measures: measured(done),
    unscored: tally(done.filter((job) => job.score && scoreOf(job) === null).map((job) => job.score!.status)),
  };
}

function measured(jobs: Job[]): Figures["measures"] {
  const found = new Map<string, number[]>();
  for (const { name, value } of jobs.flatMap((job) => job.measures)) {
    if (value.trim() !== "" && Number.isFinite(Number(value))) found.set(name, [...(found.get(name) ?? []), Number(value)]);
  }
  return [...found].map(([name, numbers]) => ({ name, median: quantile(numbers, 0.5) as number, of: numbers.length }));
}

function tally(words: string[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const word of words) found[word] = (found[word] ?? 0) + 1;
  return found;
}

export const scoreOf = (job: Job): number | null => (job.score?.status === "ok" ? job.score.fscore : null);

function values(jobs: Job[], value: (job: Job) => number | null): number[] {
  return jobs.map(value).filter((found) => found !== null);
}

export const MEASURES = ["price", "time", "score"] as const;
export type Measure = (typeof MEASURES)[number];

const MEASURED: Record<Measure, (job: Job) => number | null> = {
  price: (job) => job.cost_micros, time: (job) => job.seconds, score: scoreOf,
};

export interface Difference {
  first: string;
  second: string;
  test: Paired;
  /** Items that only one of them finished, or that lack the number. */
  dropped: number;
  /** The p-value, corrected for the number of pairs. */
  p: number;
}

export interface Differences {
  found: Difference[];
  /** Pairs of algorithms with fewer than five items in common. */
  few: { first: string; second: string; common: number }[];
}

/** Compares algorithms over the items that both finished. */
export function differences(jobs: Job[], algos: string[], of: Measure): Differences {
  const byAlgo = new Map(algos.map((algo) => [algo, new Map<number, number | null>()]));
  const value = MEASURED[of];
  for (const job of jobs) byAlgo.get(job.algo)?.set(job.item, job.state === "completed" ? value(job) : null);
  const found: Omit<Difference, "p">[] = [];
  const few: Differences["few"] = [];
  algos.forEach((first, at) => {
    for (const second of algos.slice(at + 1)) {
      const [own, others] = [byAlgo.get(first)!, byAlgo.get(second)!];
      const gaps: number[] = [];
      for (const [item, a] of own) {
        const b = others.get(item) ?? null;
        if (a !== null && b !== null) gaps.push(a - b);
      }
      const test = paired(gaps);
      if (test) found.push({ first, second, test, dropped: new Set([...own.keys(), ...others.keys()]).size - gaps.length });
      else few.push({ first, second, common: gaps.length });
    }
  });
  const corrected = holm(found.map((one) => one.test.p));
  return { found: found.map((one, at) => ({ ...one, p: corrected[at]! })), few };
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
