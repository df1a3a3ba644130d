// What the page shows, kept in the link: whoever gets the link sees the same.

import { computed, effect, signal } from "@preact/signals";

import type { Data, Item, Job, State } from "./data";
import { itemKey, itemName } from "./data";

export const SCREENS = ["summary", "grid", "compare", "diff", "failures", "judge", "about"] as const;
export type Screen = (typeof SCREENS)[number];

export interface Link {
  screen: Screen;
  run: string;
  text: string;
  algos: string[];
  states: State[];
  classes: string[];
  categories: string[];
  sort: Sort;
  item: string;
  mode: Mode;
}

export const SORTS = ["item", "cost", "time", "score", "disagreement"] as const;
export type Sort = (typeof SORTS)[number];
export const MODES = ["textured", "clay", "normals", "wireframe", "overlay"] as const;
export type Mode = (typeof MODES)[number];

const EMPTY: Link = {
  screen: "summary", run: "", text: "", algos: [], states: [], classes: [], categories: [],
  sort: "item", item: "", mode: "textured",
};

export const link = signal<Link>(read(location.hash));

export function go(change: Partial<Link>): void {
  link.value = { ...link.value, ...change };
}

function one<T extends string>(value: string | null, known: readonly T[], fallback: T): T {
  return known.find((word) => word === value) ?? fallback;
}

function read(hash: string): Link {
  const [screen = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const values = new URLSearchParams(query);
  const list = (name: string) => values.getAll(name);
  return {
    screen: one(screen, SCREENS, "summary"),
    run: values.get("run") ?? "",
    text: values.get("text") ?? "",
    algos: list("algo"),
    states: list("state") as State[],
    classes: list("class"),
    categories: list("category"),
    sort: one(values.get("sort"), SORTS, "item"),
    item: values.get("item") ?? "",
    mode: one(values.get("mode"), MODES, "textured"),
  };
}

function write(state: Link): string {
  const values = new URLSearchParams();
  const put = (name: string, value: string, usual: string) => value !== usual && values.set(name, value);
  put("run", state.run, EMPTY.run);
  put("text", state.text, EMPTY.text);
  for (const value of state.algos) values.append("algo", value);
  for (const value of state.states) values.append("state", value);
  for (const value of state.classes) values.append("class", value);
  for (const value of state.categories) values.append("category", value);
  put("sort", state.sort, EMPTY.sort);
  put("item", state.item, EMPTY.item);
  put("mode", state.mode, EMPTY.mode);
  const query = values.toString();
  return `#${state.screen}${query ? `?${query}` : ""}`;
}

/** Keeps the address and the state the same. Only the part after `#` is ever touched: more is
 * forbidden on a network share. */
export function follow(): void {
  let screen = link.value.screen;
  effect(() => {
    const hash = write(link.value);
    if (hash === location.hash) return;
    if (link.value.screen === screen) history.replaceState(null, "", hash);
    else location.hash = hash;
    screen = link.value.screen;
  });
  addEventListener("hashchange", () => {
    screen = read(location.hash).screen;
    link.value = read(location.hash);
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

/** One row of the grid: an item and its jobs by algorithm. */
export interface Row {
  index: number;
  item: Item;
  jobs: Map<string, Job>;
}

export const rows = computed<Row[]>(() => {
  const byItem = new Map<number, Row>();
  for (const job of jobs.value) {
    let row = byItem.get(job.item);
    if (!row) {
      row = { index: job.item, item: data.value.items[job.item]!, jobs: new Map() };
      byItem.set(job.item, row);
    }
    row.jobs.set(job.algo, job);
  }
  return [...byItem.values()];
});

export type Facet = "algos" | "states" | "classes" | "categories";

function jobFits(job: Job, state: Link, skip?: Facet): boolean {
  const fits = <T,>(facet: Facet, wanted: T[], value: T) => skip === facet || wanted.length === 0 || wanted.includes(value);
  return fits("algos", state.algos, job.algo)
    && fits("states", state.states, job.state)
    && fits("classes", state.classes, job.error_class ?? "");
}

function rowFits(row: Row, state: Link, skip?: Facet): boolean {
  if (skip !== "categories" && state.categories.length > 0 && !state.categories.includes(row.item.category)) return false;
  const text = state.text.trim().toLowerCase();
  if (!text) return true;
  return `${itemName(row.item)} ${itemKey(row.item)} ${row.item.category}`.toLowerCase().includes(text)
    || [...row.jobs.values()].some((job) => job.job_id.startsWith(text));
}

/** Counts what each value of a facet would show, with the other facets as they are. */
export function facet(name: Facet): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (value: string) => counts.set(value, (counts.get(value) ?? 0) + 1);
  for (const row of rows.value) {
    if (!rowFits(row, link.value, name)) continue;
    const fitting = [...row.jobs.values()].filter((job) => jobFits(job, link.value, name));
    if (name === "categories") {
      if (fitting.length > 0) add(row.item.category);
      continue;
    }
    for (const job of fitting) {
      if (name === "algos") add(job.algo);
      else if (name === "states") add(job.state);
      else if (job.error_class) add(job.error_class);
    }
  }
  return counts;
}

/** The rows that fit, in the order asked for, each with the jobs that fit. */
export const shown = computed<Row[]>(() => {
  const state = link.value;
  const fitting = rows.value
    .filter((row) => rowFits(row, state))
    .map((row) => ({ ...row, jobs: new Map([...row.jobs].filter(([, job]) => jobFits(job, state))) }))
    .filter((row) => row.jobs.size > 0);
  const order = ORDERS[state.sort];
  return order ? fitting.map((row) => ({ row, key: order(row) })).sort((a, b) => b.key - a.key).map(({ row }) => row) : fitting;
});

const sum = (row: Row, value: (job: Job) => number | null) =>
  [...row.jobs.values()].reduce((total, job) => total + (value(job) ?? 0), 0);

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
  const mixed = done.length > 0 && failed > 0 ? Math.min(failed, done.length) / all.length : 0;
  const scores = done.map((job) => job.score?.fscore).filter((score) => score != null);
  const spread = scores.length > 1 ? Math.max(...scores) - Math.min(...scores) : 0;
  const sizes = done.map((job) => Math.log10(Math.max(1, job.model?.triangles ?? 1)));
  const detail = sizes.length > 1 ? (Math.max(...sizes) - Math.min(...sizes)) / 10 : 0;
  return mixed * 4 + spread * 2 + detail;
}
