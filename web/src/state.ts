// What the page shows, kept in the link: whoever gets the link sees the same.

import { computed, effect, signal } from "@preact/signals";

import type { Data, Item, Job } from "./data";
import { itemKey, itemName } from "./data";

export const SCREENS = ["summary", "grid", "compare", "diff", "failures", "judge", "about"] as const;
/** The screens of the dashboard, which has those of a report for each of its runs. */
export const BOARD_SCREENS = ["runs", "run", "grid", "compare", "summary", "failures", "judge", "job", "workers", "costs", "new"] as const;
export type ReportScreen = (typeof SCREENS)[number];
export type BoardScreen = (typeof BOARD_SCREENS)[number];
export type Screen = ReportScreen | BoardScreen;
export const SORTS = ["item", "cost", "time", "score", "disagreement"] as const;
export type Sort = (typeof SORTS)[number];
export const MODES = ["textured", "clay", "normals", "wireframe", "overlay"] as const;
export type Mode = (typeof MODES)[number];
export const FACETS = ["state", "algo", "category", "error", "score", "verdict"] as const;
export type Facet = (typeof FACETS)[number];

export interface Link {
  screen: Screen;
  run: string;
  text: string;
  /** What is chosen of each facet; nothing means everything. */
  only: Record<Facet, string[]>;
  sort: Sort;
  item: string;
  mode: Mode;
  /** Two of the makers, to be swiped between. */
  swipe: string[];
  change: string;
  /** The job that is looked at. */
  job: string;
  /** What sums are made by. */
  by: string;
  /** The days that they are of. */
  from: string;
  to: string;
}

let screens: readonly Screen[] = SCREENS;

/** Says which screens there are, the first of them first. */
export function setScreens(known: readonly Screen[]): void {
  screens = known;
  link.value = read(location.hash);
}

export const link = signal<Link>(read(location.hash));

export function go(change: Partial<Link>): void {
  link.value = { ...link.value, ...change };
}

export function choose(facet: Facet, values: string[]): Partial<Link> {
  return { only: { ...link.value.only, [facet]: values } };
}

export function nothingChosen(): Link["only"] {
  return Object.fromEntries(FACETS.map((facet) => [facet, []])) as unknown as Link["only"];
}

function one<T extends string>(value: string | null, known: readonly T[], fallback: T): T {
  return known.find((word) => word === value) ?? fallback;
}

function read(hash: string): Link {
  const at = hash.indexOf("?");
  const screen = (at < 0 ? hash : hash.slice(0, at)).replace(/^#\/?/, "");
  const values = new URLSearchParams(at < 0 ? "" : hash.slice(at + 1));
  const only = nothingChosen();
  for (const facet of FACETS) only[facet] = values.getAll(facet);
  return {
    screen: one(screen, screens, screens[0]!),
    run: values.get("run") ?? "",
    text: values.get("text") ?? "",
    only,
    sort: one(values.get("sort"), SORTS, "item"),
    item: values.get("item") ?? "",
    mode: one(values.get("mode"), MODES, "textured"),
    swipe: values.getAll("swipe").slice(0, 2),
    change: values.get("change") ?? "",
    job: values.get("job") ?? "",
    by: values.get("by") ?? "",
    from: values.get("from") ?? "",
    to: values.get("to") ?? "",
  };
}

export function write(state: Link): string {
  const values = new URLSearchParams();
  const put = (name: string, value: string, usual: string) => value !== usual && values.set(name, value);
  put("run", state.run, "");
  put("text", state.text, "");
  for (const facet of FACETS) for (const value of state.only[facet]) values.append(facet, value);
  put("sort", state.sort, "item");
  put("item", state.item, "");
  put("mode", state.mode, "textured");
  for (const value of state.swipe) values.append("swipe", value);
  put("change", state.change, "");
  put("job", state.job, "");
  put("by", state.by, "");
  put("from", state.from, "");
  put("to", state.to, "");
  const query = values.toString();
  return `#${state.screen}${query ? `?${query}` : ""}`;
}

/** Keeps the address and the state the same. Only the part after `#` is ever touched: more is
 * forbidden on a network share. */
export function follow(): void {
  const placeOf = (state: Link) => `${state.screen} ${state.run} ${state.job}`;
  let place = placeOf(link.value);
  effect(() => {
    const hash = write(link.value);
    if (hash === location.hash) return;
    if (placeOf(link.value) === place) history.replaceState(null, "", hash);
    else location.hash = hash;
    place = placeOf(link.value);
  });
  addEventListener("hashchange", () => {
    const found = read(location.hash);
    place = placeOf(found);
    if (write(found) !== write(link.value)) link.value = found;
  });
}

export const data = signal<Data>(null as unknown as Data);

/** The run that is looked at: the one in the link, else the first that is not compared with. */
export const run = computed<string>(() => {
  const runs = data.value.runs.map((known) => known.run_id);
  if (runs.includes(link.value.run)) return link.value.run;
  return runs.find((known) => known !== data.value.against) ?? runs[0] ?? "";
});

export const jobs = computed<Job[]>(() => data.value.jobs.filter((job) => job.run_id === run.value));

export const algos = computed<string[]>(() => {
  const present = new Set(jobs.value.map((job) => job.algo));
  return data.value.algos.map((algo) => algo.algo).filter((algo) => present.has(algo));
});

/** The colour of an algorithm, the same everywhere. */
export const hue = (algo: string): string =>
  `var(--series-${Math.max(0, data.value.algos.findIndex((known) => known.algo === algo)) % 8})`;

export const jobKey = (job: { run_id: string; job_id: string }): string => `${job.run_id} ${job.job_id}`;

/** What most judges say of each job that anybody judged; a tie is no acceptance. */
export const verdicts = computed<Map<string, boolean>>(() => {
  const sums = new Map<string, number>();
  for (const accept of data.value.accepts) {
    const key = jobKey(accept);
    sums.set(key, (sums.get(key) ?? 0) + (accept.accepted ? 1 : -1));
  }
  return new Map([...sums].map(([key, sum]) => [key, sum > 0]));
});

/** One row of the grid: an item and its jobs by algorithm. */
export interface Row {
  index: number;
  item: Item;
  jobs: Map<string, Job>;
  /** What a search looks at. */
  text: string;
}

export const rows = computed<Row[]>(() => {
  const byItem = new Map<number, Row>();
  for (const job of jobs.value) {
    let row = byItem.get(job.item);
    if (!row) {
      const item = data.value.items[job.item]!;
      row = { index: job.item, item, jobs: new Map(), text: `${itemName(item)} ${itemKey(item)} ${item.category}`.toLowerCase() };
      byItem.set(job.item, row);
    }
    row.jobs.set(job.algo, job);
  }
  return [...byItem.values()];
});

/** What a job is in each facet; nothing where the facet does not apply to it. */
function value(facet: Facet, job: Job, row: Row): string {
  switch (facet) {
    case "state": return job.state;
    case "algo": return job.algo;
    case "category": return row.item.category;
    case "error": return job.state === "failed" ? job.error_class ?? "unclassified" : "";
    case "score": return scoreRange(job);
    case "verdict": {
      if (job.state !== "completed" || verdicts.value.size === 0) return "";
      const verdict = verdicts.value.get(jobKey(job));
      return verdict === undefined ? "not judged" : verdict ? "accepted" : "rejected";
    }
  }
}

function scoreRange(job: Job): string {
  if (!job.score) return "";
  if (job.score.status !== "ok" || job.score.fscore === null) return job.score.status;
  const low = Math.min(4, Math.max(0, Math.floor(job.score.fscore * 5))) / 5;
  return `${low.toFixed(1)} to ${(low + 0.2).toFixed(1)}`;
}

const fits = (job: Job, row: Row, only: Link["only"], skip?: Facet): boolean =>
  FACETS.every((facet) => facet === skip || only[facet].length === 0 || only[facet].includes(value(facet, job, row)));

function textFits(row: Row, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return !wanted || row.text.includes(wanted) || [...row.jobs.values()].some((job) => job.job_id.startsWith(wanted));
}

/** Counts the jobs that each value of a facet would show, with the other facets as they are. */
export const counts = computed<Record<Facet, Map<string, number>>>(() => {
  const { only, text } = link.value;
  const found = Object.fromEntries(FACETS.map((facet) => [facet, new Map<string, number>()])) as Record<Facet, Map<string, number>>;
  for (const row of rows.value) {
    if (!textFits(row, text)) continue;
    for (const job of row.jobs.values()) {
      for (const facet of FACETS) {
        if (!fits(job, row, only, facet)) continue;
        const name = value(facet, job, row);
        if (name) found[facet].set(name, (found[facet].get(name) ?? 0) + 1);
      }
    }
  }
  return found;
});

/** Everything that a job of the run is in each facet. */
export const known = computed<Record<Facet, string[]>>(() => {
  const found = Object.fromEntries(FACETS.map((facet) => [facet, new Set<string>()])) as Record<Facet, Set<string>>;
  for (const row of rows.value) for (const job of row.jobs.values()) for (const facet of FACETS) found[facet].add(value(facet, job, row));
  return Object.fromEntries(FACETS.map((facet) => [facet, [...found[facet]].filter(Boolean)])) as Record<Facet, string[]>;
});

/** The rows that fit, in the order asked for, each with the jobs that fit. */
export const shown = computed<Row[]>(() => {
  const { only, text, sort } = link.value;
  const fitting = rows.value
    .filter((row) => textFits(row, text))
    .map((row) => ({ ...row, jobs: new Map([...row.jobs].filter(([, job]) => fits(job, row, only))) }))
    .filter((row) => row.jobs.size > 0);
  const order = ORDERS[sort];
  return order ? fitting.map((row) => ({ row, key: order(row) })).sort((a, b) => b.key - a.key).map(({ row }) => row) : fitting;
});

const sum = (row: Row, of: (job: Job) => number | null) =>
  [...row.jobs.values()].reduce((total, job) => total + (of(job) ?? 0), 0);

const ORDERS: Record<Sort, ((row: Row) => number) | null> = {
  item: null,
  cost: (row) => sum(row, (job) => job.cost_micros),
  time: (row) => sum(row, (job) => job.seconds),
  score: (row) => Math.max(-1, ...[...row.jobs.values()].map((job) => job.score?.fscore ?? -1)),
  disagreement,
};

/** How much the algorithms differ on an item: some failed and some not, then scores, then sizes. */
function disagreement(row: Row): number {
  const all = [...row.jobs.values()];
  const done = all.filter((job) => job.state === "completed");
  const failed = all.filter((job) => job.state === "failed").length;
  const mixed = Math.min(failed, done.length) / Math.max(1, all.length);
  const scores = done.map((job) => job.score?.fscore).filter((score) => score != null);
  const spread = scores.length > 1 ? Math.max(...scores) - Math.min(...scores) : 0;
  const sizes = done.map((job) => job.model?.triangles).filter((size) => size != null).map((size) => Math.log10(Math.max(1, size)));
  const detail = sizes.length > 1 ? (Math.max(...sizes) - Math.min(...sizes)) / 10 : 0;
  return mixed * 4 + spread * 2 + detail;
}
