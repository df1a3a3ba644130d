// What a report shows: one plain object, made by `archi3d report build` (or asked of the
// service). Money is in millionths of a dollar, so that sums here equal sums elsewhere.

export interface Data {
  schema: 1;
  made_at: string;
  archi3d: string;
  title: string;
  runs: Run[];
  /** The run that the others are compared with, if one was asked for. */
  against: string | null;
  algos: Algo[];
  items: Item[];
  jobs: Job[];
  /** What was spent, by run and algorithm, as `cost report` says. */
  costs: Cost[];
  accepts: Accept[];
  /** What the votes on pairs came to, by run and by how models were drawn. */
  rankings: Ranking[];
  /** What is not shown, and why. */
  left_out: { reason: string; jobs: number }[];
  /** Jobs of which there are only rehearsals; they count nowhere. */
  rehearsed: { run_id: string; product_id: string; variant: string; algo: string }[];
  /** What was odd when the report was built. */
  notes: string[];
}

export interface Ranking {
  run_id: string;
  mode: string;
  votes: number;
  both_unusable: number;
  /** How far judges agree (Krippendorff's alpha). */
  agreement: number | null;
  unconnected: string[];
  /** Best first. */
  algos: Ranked[];
}

export interface Ranked {
  algo: string;
  points: number;
  interval: [number, number] | null;
  /** How probable it is that it is the best. */
  best: number | null;
  votes: number;
}

export interface Run {
  run_id: string;
  created_at: string | null;
}

export interface Algo {
  algo: string;
  unit_price_usd: number | null;
}

export interface Item {
  product_id: string;
  variant: string;
  name: string;
  category: string;
  pictures: Picture[];
  /** How many pictures cannot be read. */
  missing: number;
  truth: Model | null;
}

export interface Picture {
  name: string;
  sha256: string;
}

export type State = "completed" | "failed" | "running" | "enqueued" | "cancelled" | "rehearsed";

export interface Job {
  run_id: string;
  job_id: string;
  /** Index into `items`. */
  item: number;
  algo: string;
  state: State;
  error_class: string | null;
  error: string | null;
  seconds: number | null;
  cost_micros: number | null;
  attempts: number;
  model: Model | null;
  score: Score | null;
  /** What programs of the workspace measured. */
  measures: { name: string; value: string }[];
}

export interface Model {
  sha256: string;
  bytes: number;
  path: string;
  triangles: number | null;
  vertices: number | null;
  materials: number | null;
  texture: [number, number] | null;
  /** Whether pictures of it were drawn. */
  poster: boolean;
  /** Whether it is in the report itself. */
  payload: boolean;
  /** The picture that the service itself made, where none could be drawn. */
  preview: string | null;
  /** Why there is no poster, in one sentence; nothing to say of it if that is empty. */
  note: string | null;
}

export interface Score {
  fscore: number | null;
  precision: number | null;
  recall: number | null;
  chamfer_l2: number | null;
  /** `ok`, or why it does not count: `ambiguous`, `error`. */
  status: string;
  error: string | null;
  /** `upright` or `turned`. */
  stands: string | null;
  /** How many times worse the next different pose is. */
  margin: number | null;
  /** Brings the model onto the real one: scale, turn (w, x, y, z), shift. */
  pose: { scale: number; turn: [number, number, number, number]; shift: [number, number, number] } | null;
}

export interface Cost {
  run_id: string;
  algo: string;
  spent_micros: number;
  reserved_micros: number;
  /** Attempts that may have been billed with nobody knows what. */
  unknown: number;
}

export interface Accept {
  job_id: string;
  run_id: string;
  judge: string;
  accepted: boolean;
}

export function itemName(item: Item): string {
  const variant = item.variant && item.variant !== "default" ? ` (${item.variant})` : "";
  return `${item.name || item.product_id}${variant}`;
}

export function itemKey(item: Item): string {
  return item.variant ? `${item.product_id}:${item.variant}` : item.product_id;
}
