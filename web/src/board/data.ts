// A run of the service as the parts of a report know it.

import { api, micros } from "../api";
import type * as Api from "../api";
import type { Data, Item, Job, Model, State } from "../data";
import type { Source } from "../source";

/** So many jobs of a run are held here; of larger runs, those that fit what is asked for. */
export const MOST_JOBS = 5000;
const MOST_ITEMS = 20_000;

export class HttpSource implements Source {
  private readonly scripts = new Map<string, Promise<void>>();

  data(): Data {
    return EMPTY;
  }

  poster(model: Model): string {
    return model.preview ?? "";
  }

  view(model: Model): string {
    return model.preview ?? "";
  }

  picture(address: string): string {
    return address;
  }

  async model(model: Model): Promise<ArrayBuffer> {
    const answer = await fetch(model.path, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.status === 410 ? "Its file is gone from the disk." : `Its file cannot be read (${answer.status}).`);
    return answer.arrayBuffer();
  }

  more(job: { run_id: string; job_id: string }): string {
    return `#job?${new URLSearchParams({ run: job.run_id, job: job.job_id })}`;
  }

  script(name: string): Promise<void> {
    let loading = this.scripts.get(name);
    if (!loading) {
      loading = new Promise((resolve, reject) => {
        const element = document.createElement("script");
        element.onload = () => resolve();
        element.onerror = () => reject(new Error(`${name} cannot be loaded`));
        element.src = new URL(name, document.baseURI).pathname;
        document.head.append(element);
      });
      this.scripts.set(name, loading);
      loading.catch(() => this.scripts.delete(name));
    }
    return loading;
  }
}

export const EMPTY: Data = {
  schema: 1, made_at: "", archi3d: "", title: "archi3d", runs: [], against: null, algos: [], items: [], jobs: [], costs: [],
  accepts: [], rankings: [], left_out: [], rehearsed: [], notes: [],
};

/** What does not change from moment to moment. */
export interface Catalogue {
  items: Map<string, Api.Item>;
  algos: Api.Algo[];
}

export async function catalogue(): Promise<Catalogue> {
  const [found, algos] = await Promise.all([api.items(MOST_ITEMS), api.algos()]);
  return { items: new Map(found.items.map((item) => [item.item, item])), algos };
}

export const itemOf = (product: string, variant: string): string => (variant && variant !== "default" ? `${product}:${variant}` : product);

const category = (item: Api.Item | undefined): string => item?.categories.at(-1)?.split(" > ").at(-1) ?? "";

/** Brings a run, its jobs and the catalogue together. */
export function toData(run: Api.RunDetail, found: Api.Job[], known: Catalogue, accepts: Api.Row[], costs: Api.Costs | null): Data {
  const items: Item[] = [];
  const places = new Map<string, number>();
  const placeOf = (job: Api.Job): number => {
    const key = `${job.product_id}\n${job.variant}`;
    let at = places.get(key);
    if (at === undefined) {
      const item = known.items.get(job.item) ?? known.items.get(itemOf(job.product_id, job.variant));
      at = items.push({
        product_id: job.product_id, variant: job.variant, name: item?.name ?? "", category: category(item), missing: 0, truth: null,
        pictures: (item?.pictures ?? []).map((picture) => ({ name: picture.name, sha256: picture.href })),
      }) - 1;
      places.set(key, at);
    }
    return at;
  };
  const jobs = found.map((job): Job => ({
    run_id: job.run_id, job_id: job.job_id, item: placeOf(job), algo: job.algo, state: job.status as State,
    error_class: job.status === "failed" ? job.error_class : null, error: job.error, seconds: job.duration_s, cost_micros: micros(job.cost_usd),
    attempts: job.attempts, model: modelOf(job.model, job.previews), score: null, measures: [],
  }));
  const order = [...known.algos.map((algo) => algo.algo), ...run.algos.map((one) => one.algo)];
  return {
    ...EMPTY,
    title: run.run_id,
    runs: [{ run_id: run.run_id, created_at: run.created_at }],
    algos: [...new Set(order)].map((algo) => ({ algo, unit_price_usd: run.algos.find((one) => one.algo === algo)?.unit_price_usd ?? null })),
    items,
    jobs,
    costs: run.algos.map((one) => ({
      run_id: run.run_id, algo: one.algo, spent_micros: micros(one.cost_usd) ?? 0, reserved_micros: 0,
      unknown: costs?.lines.find((line) => line.algo === one.algo)?.unknown_cost_attempts ?? 0,
    })),
    accepts: standing(accepts, run.run_id),
  };
}

export function modelOf(address: string | null, previews: string[]): Model | null {
  if (!address) return null;
  return {
    sha256: address, bytes: 0, path: address, triangles: null, vertices: null, materials: null, texture: null, poster: false, payload: true,
    preview: previews[0] ?? null, note: "",
  };
}

/** The last word of each judge on each job, but for what was taken back. */
function standing(rows: Api.Row[], run: string): Data["accepts"] {
  const last = new Map<string, Api.Row>();
  for (const row of rows) if (row["run_id"] === run) last.set(`${row["judge"]}\n${row["job_id"]}`, row);
  return [...last.values()].filter((row) => row["accepted"] === "yes" || row["accepted"] === "no").map((row) => ({
    run_id: run, job_id: String(row["job_id"]), judge: String(row["judge"]), accepted: row["accepted"] === "yes",
  }));
}
