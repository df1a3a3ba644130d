// Failed jobs tried again: asked about with number and price as the service plans them, then done exactly so.

import { api, micros } from "../api";
import type { Filter, Plan } from "../api";
import { count, priced, unique, usd } from "../format";
import { question, say } from "./parts";

/** What is known of a failed job. */
export interface Failed {
  job_id: string;
  error: string | null;
  error_class: string | null;
}

/** So many ids fit into what the service takes as a pattern. */
const CHUNK = 400;

/** Returns what names these jobs, some at a time. */
export function named(ids: string[]): Filter[] {
  const filters: Filter[] = [];
  for (let at = 0; at < ids.length; at += CHUNK) filters.push({ jobs: `^(${ids.slice(at, at + CHUNK).join("|")})$` });
  return filters;
}

interface Part {
  filter: Filter;
  plan: Plan;
  /** So that what is sent twice happens once. */
  key: string;
}

/** Asks the service what trying these jobs again does and costs, and then the person. */
export async function askRetry(run: string, list: Failed[], again: () => void): Promise<void> {
  const parts: Part[] = [];
  try {
    for (const filter of named(list.map((job) => job.job_id))) parts.push({ filter, plan: await api.retryPlan(run, filter), key: unique() });
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return;
  }
  const sum = (of: (plan: Plan) => number) => parts.reduce((all, part) => all + of(part.plan), 0);
  const expected = sum((plan) => micros(plan.expected_usd) ?? 0);
  const worst = sum((plan) => micros(plan.worst_usd) ?? 0);
  const [blocked, why] = [sum((plan) => plan.blocked), new Set(parts.flatMap(({ plan }) => plan.algos.flatMap((one) => one.problem ?? [])))];
  const [start, unknown] = [sum((plan) => plan.start + plan.reuse + plan.blocked), sum((plan) => plan.unknown_price_jobs)];
  const left = list.length - start;
  const doubtful = list.filter((job) => job.error_class === "unknown").length;
  question.value = {
    title: `Try ${count(list.length, "job")} of ${run} again?`, button: `Retry ${count(start, "job")} for ${priced(expected, unknown)}`,
    body: (
      <>
        <p><b>{count(start, "failed job")}</b> {start === 1 ? "goes" : "go"} back to the queue: {unknown === 0 && "about "}<b class="money">{priced(expected, unknown)}</b>{worst > expected && <>, at most <span class="money">{usd(worst)}</span></>}.</p>
        {blocked > 0 && <p class="bad">{count(blocked, "of them waits", "of them wait")} until it can start, and then costs that{why.size > 0 && `: ${[...why].join("; ")}`}.</p>}
        {unknown > 0 && <p class="bad">{count(unknown, "of them has", "of them have")} no known price and {unknown === 1 ? "waits" : "wait"} until <code>adapters.yaml</code> has it.</p>}
        {left > 0 && <p>{count(left, "job stays as it is", "jobs stay as they are")}{doubtful > 0 ? ": what may have been billed is never bought again blindly" : ""}.</p>}
        {left === 0 && doubtful > 0 && <p>{count(doubtful, "of them", "of them")} may have been billed: {doubtful === 1 ? "its" : "their"} provider is asked first.</p>}
        {failuresOf(list).map(([message, times]) => <p key={message} class="hint"><b>{times}×</b> {message}</p>)}
      </>
    ),
    act: async () => {
      let back = 0;
      for (const { filter, plan, key } of parts) {
        const done = await api.retry(run, filter, plan.hash, key);
        back += done.start + done.reuse + done.blocked;
      }
      again();
      return back > 0 ? `${count(back, "job")} back in the queue, expected to cost ${priced(expected, unknown)}` : "Nothing starts: it may have been billed";
    },
  };
}

function failuresOf(list: Failed[]): [string, number][] {
  const found = new Map<string, number>();
  for (const job of list) found.set(job.error ?? "no reason recorded", (found.get(job.error ?? "no reason recorded") ?? 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1]).slice(0, 4);
}
