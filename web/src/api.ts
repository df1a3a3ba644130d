// The service as the dashboard knows it: `docs/api.md`, typed. Every call fails with a `Problem`.

export interface Session {
  name: string;
  role: Role;
  daily_cap_usd: number | null;
}

export const ROLES = ["read", "judge", "submit", "admin"] as const;
export type Role = (typeof ROLES)[number];

export const STATUSES = ["completed", "running", "enqueued", "failed", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];
export type Counts = Record<Status, number>;

export interface Run {
  run_id: string;
  status: Status;
  created_at: string | null;
  jobs: Counts & { total: number };
  /** Its store cannot be asked: the counts are older. */
  as_pulled: boolean;
  rehearsed: number;
  submission: { created_by: string | null; max_cost_usd: number | null; notes: string | null; start: boolean } | null;
}

export interface RunDetail extends Run {
  at: string;
  algos: { algo: string; counts: Counts; median_s: number | null; cost_usd: number; unit_price_usd: number | null }[];
  pace: { jobs_per_hour: number } | null;
  time_left_s: number | null;
  money: Money & { to_finish_usd: number; to_finish_unpriced_jobs: number };
  running: RunningJob[];
  closed_providers: Closure[];
  paused_algos: Closure[];
  failure_groups: { count: number; message: string; newest_job_id: string; newest_at: string | null; algos: string[] }[];
  warnings: string[];
}

export interface Money {
  spent_usd: number;
  reserved_usd: number;
  limits: { of: string; cap_usd: number; used_usd: number; left_usd: number }[];
}

export interface RunningJob {
  job_id: string;
  product_id: string;
  variant: string;
  algo: string;
  attempt: number;
  worker: string | null;
  host: string | null;
  age_s: number | null;
  last_beat_age_s: number | null;
  verdict: string;
  progress: { fraction: number | null; message: string | null } | number | null;
  slow: boolean;
  stalled: boolean;
  cancel_asked: boolean;
}

export interface Closure {
  provider: string;
  closed_at: string | null;
  until: string | null;
  reason: string;
}

export interface Job {
  run_id: string;
  job_id: string;
  product_id: string;
  variant: string;
  item: string;
  algo: string;
  status: Status | "rehearsed";
  attempts: number;
  duration_s: number | null;
  cost_usd: number | null;
  request_id: string | null;
  error: string | null;
  error_class: string | null;
  worker: string | null;
  started_at: string | null;
  ended_at: string | null;
  result: string | null;
  model: string | null;
  previews: string[];
}

export interface OneJob extends Omit<Job, "attempts"> {
  attempt_count: number;
  attempts: Attempt[];
  artifacts: Artifact[];
}

export interface Attempt {
  attempt: number;
  worker: string | null;
  host: string | null;
  entry: string;
  started: string | null;
  ended: string | null;
  outcome: string | null;
  class: string | null;
  duration_s: number | null;
  cost_usd: number | null;
  request_id: string | null;
  resumed: boolean;
  price_source: string | null;
  simulated: boolean;
  error: string | null;
}

export interface Artifact {
  name: string;
  bytes: number;
  sha256: string;
  media_type: string;
  href: string;
}

export interface Explanation {
  state: string;
  code: string;
  why: string[];
  plan: { fate: string; reason: string };
  numbers: {
    retries: number;
    failures: number;
    not_before: string | null;
    unit_price_usd: number | null;
    reserved_usd: number | null;
    request_id: string | null;
    provider: string | null;
    median_s: number | null;
    cancel_asked: boolean;
  };
  next?: { what: string; command: string }[];
  warnings: string[];
}

export interface Item {
  item: string;
  product_id: string;
  variant: string;
  name: string;
  manufacturer: string | null;
  categories: string[];
  pictures: { name: string; href: string }[];
}

export interface Algo {
  algo: string;
  kind: string;
  image_mode: string;
  unit_price_usd: number | null;
  price_source: string | null;
  provider: string | null;
  runnable: boolean;
  problems: string[];
  closed: Closure | null;
  paused: Closure | null;
  deprecated: string | null;
}

export interface Worker {
  worker_id: string;
  run_id: string | null;
  state: string;
  host: string;
  version: string;
  since: string | null;
  heartbeat_age_s: number | null;
  holds: { run_id: string; job_id: string; item: string; algo: string; attempt: number; age_s: number | null }[];
}

export const GROUPS = ["day", "algo", "run", "worker"] as const;
export type Group = (typeof GROUPS)[number];

export interface Tally {
  attempts: number;
  completed: number;
  failed: number;
  retried: number;
  reused: number;
  unfinished: number;
  billed_usd: number;
  unknown_cost_attempts: number;
}

export interface Costs {
  by: Group;
  lines: (Tally & Partial<Record<Group, string>>)[];
  total: Tally;
  ledger: { spent_usd: number; reserved_usd: number; open: { run_id: string; job_id: string; usd: number; state: string; request_id: string | null }[] };
  warnings: string[];
}

export interface Order {
  parameters: { algos: string[]; items?: string[]; images?: string[] };
  run_id?: string;
  max_cost_usd?: number;
  if_plan?: string;
  dedupe?: "active_or_finished" | "active" | "none";
  notes?: string;
  start?: boolean;
}

export interface Plan {
  hash: string;
  jobs: number;
  start: number;
  reuse: number;
  blocked: number;
  expected_usd: number;
  worst_usd: number;
  unknown_price_jobs: number;
  /** An algorithm whose jobs would be bought if their price were known: such an order is refused. */
  priceless?: string;
  algos: { algo: string; jobs: number; unit_price_usd: number | null; expected_usd: number | null; problem: string | null }[];
  warnings: string[];
  existing: { run_id: string; status: string } | null;
}

export type MadeRun = Run & { plan: Plan | null; deduplicated: "active" | "finished" | "replayed" | null };

/** What jobs are meant; without anything, all of the run. */
export interface Filter {
  jobs?: string;
  items?: string[];
  algos?: string[];
  status?: string[];
}

export interface Cancelled {
  cancelled: number;
  asked: number;
  finished_already: number;
  restored: number;
}

export type Row = Record<string, string | number>;

/** What went wrong, in the service's own words. */
export class Problem extends Error {
  constructor(readonly status: number, readonly kind: string, title: string, detail: string, readonly errors: { pointer: string; detail: string }[] = []) {
    super([detail || title, ...errors.map((one) => one.detail).filter((one) => !detail.includes(one))].filter(Boolean).join("; "));
  }
}

export const PREFIX = "/api/v1";
const path = (...parts: string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

/** Takes notice when the service no longer knows us. */
export const onSignedOut: { call: () => void } = { call: () => undefined };

async function call<T>(method: string, where: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(PREFIX + where, {
      method, credentials: "same-origin", cache: "no-cache",
      headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Problem(0, "unreachable", "archi3d does not answer", "archi3d does not answer; is `archi3d serve` still running?");
  }
  if (answer.ok) return answer.status === 204 ? (undefined as T) : ((await answer.json()) as T);
  throw await problem(answer);
}

export async function problem(answer: Response): Promise<Problem> {
  const said = (await answer.json().catch(() => ({}))) as { type?: string; title?: string; detail?: string; errors?: { pointer: string; detail: string }[] };
  const found = new Problem(answer.status, (said.type ?? "").replace(/^.*\/problems\//, ""), said.title ?? `error ${answer.status}`, said.detail ?? "", said.errors);
  if (answer.status === 401) onSignedOut.call();
  return found;
}

interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

/** Reads a list page by page, `most` entries at most; says whether that is all. */
async function list<T>(where: string, query: Record<string, string>, most: number): Promise<{ items: T[]; whole: boolean }> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const values: URLSearchParams = new URLSearchParams(query);
    values.set("limit", String(Math.min(1000, most - items.length)));
    if (cursor) values.set("cursor", cursor);
    const page: Page<T> = await call<Page<T>>("GET", `${where}?${values}`);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < most);
  return { items, whole: !cursor };
}

export const api = {
  session: () => call<Session>("GET", "/session"),
  signIn: (token: string) => call<Session>("POST", "/session", { token }),
  signOut: () => call<void>("DELETE", "/session"),
  runs: (query: Record<string, string>, most: number) => list<Run>("/runs", query, most),
  run: (run: string) => call<RunDetail>("GET", path("runs", run)),
  jobs: (run: string, query: Record<string, string>, most: number) => list<Job>(`${path("runs", run)}/jobs`, query, most),
  job: (run: string, job: string) => call<OneJob>("GET", path("runs", run, "jobs", job)),
  explain: (run: string, job: string) => call<Explanation>("GET", path("runs", run, "jobs", job, "explain")),
  items: (most: number) => list<Item>("/items", {}, most),
  item: (item: string) => call<Item>("GET", path("items", item)),
  algos: () => list<Algo>("/algos", {}, 1000).then((found) => found.items),
  workers: () => list<Worker>("/workers", {}, 1000).then((found) => found.items),
  costs: (by: Group, from: string, to: string) => {
    const query = new URLSearchParams({ by, ...(from && by === "day" ? { from } : {}), ...(to && by === "day" ? { to } : {}) });
    return call<Costs>("GET", `/costs?${query}`);
  },
  costsOf: (run: string) => call<Costs>("GET", `/costs?${new URLSearchParams({ by: "algo", run_id: run })}`),
  votes: () => call<{ votes: Row[]; accepts: Row[] }>("GET", "/votes"),
  judge: (votes: object[], accepts: object[]) => call<{ votes: number; accepts: number; known: number; unknown_jobs: number; refused: number }>("POST", "/votes", { votes, accepts }),
  plan: (order: Order) => call<Plan>("POST", "/plans", order),
  start: (order: Order, key: string) => call<MadeRun>("POST", "/runs", order, { "Idempotency-Key": `"${key}"` }),
  cancel: (run: string, filter: Filter, undo = false) => call<Cancelled>("POST", `${path("runs", run)}/cancel`, { filter, undo }),
  retryPlan: (run: string, filter: Filter) => call<Plan>("POST", `${path("runs", run)}/retry`, { filter, dry_run: true }),
  retry: (run: string, filter: Filter, if_plan: string, key: string) => call<Plan>("POST", `${path("runs", run)}/retry`, { filter, if_plan }, { "Idempotency-Key": `"${key}"` }),
  resume: (algo: string) => call<{ opened: boolean }>("POST", `${path("algos", algo)}/resume`, {}),
};

export const micros = (usd: number | null): number | null => (usd === null ? null : Math.round(usd * 1e6));
