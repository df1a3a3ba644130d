// One run: its head, its screens, and what can be done with many of its jobs at once.

import { computed, signal } from "@preact/signals";
import { useLayoutEffect, useState } from "preact/hooks";

import { api, micros } from "../api";
import type { Filter, RunDetail } from "../api";
import { Compare } from "../compare";
import type { Job } from "../data";
import { itemName } from "../data";
import { Failures } from "../failures";
import { Filters } from "../filters";
import { count, priced, seconds, usd } from "../format";
import { Grid } from "../grid";
import { Judge } from "../judge";
import { SourcePicture } from "../picture";
import { data, hue, jobs, link, shown } from "../state";
import type { BoardScreen } from "../state";
import { Summary } from "../summary";
import { useCurrentInView } from "../tabs";
import { EMPTY, MOST_JOBS, catalogue, toData } from "./data";
import { never, ofRun, useLive } from "./live";
import { Chip, Progress, To, Trouble, left, made, may, question, visit } from "./parts";
import { askRetry, named } from "./retry";
import { MoneyOf, Numbers, Obstacles, State } from "./runs";

const TABS: [BoardScreen, string][] = [
  ["run", "Jobs"], ["grid", "Grid"], ["compare", "Compare"], ["summary", "Summary"], ["failures", "Failures"], ["judge", "Judge"],
];

/** Whether all jobs of the run are here. */
const whole = signal(true);
const detail = signal<RunDetail | null>(null);

/** What to ask of the service where not everything fits in here. */
function asked(): Record<string, string> {
  const { only, text } = link.value;
  const query = { status: only.state.join(","), algo: only.algo.join(","), class: only.error.join(","), q: text.trim() };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value));
}

export function RunFrame() {
  const { run, screen } = link.value;
  const own = ofRun(run);
  const found = useLive(`run ${run}`, () => api.run(run), own);
  const narrowed = found.value && found.value.jobs.total > MOST_JOBS ? asked() : {};
  const list = useLive(`jobs ${run} ${JSON.stringify(narrowed)}`, () => api.jobs(run, narrowed, MOST_JOBS), own);
  const known = useLive("catalogue", catalogue, (told) => told.event === "catalog_build" || told.event === "batch_create");
  const votes = useLive("votes", api.votes, never);
  const priced = screen === "summary";
  const costs = useLive(`costs of ${priced ? run : "none"}`, () => (priced ? api.costsOf(run) : Promise.resolve(null)), own);
  useLayoutEffect(() => {
    if (!found.value || !list.value || !known.value) return;
    detail.value = found.value;
    whole.value = list.value.whole;
    data.value = toData(found.value, list.value.items, known.value, votes.value?.accepts ?? [], costs.value);
  }, [found.value, list.value, known.value, votes.value, costs.value]);
  useLayoutEffect(() => () => {
    data.value = EMPTY;
    selected.value = new Set();
  }, [run]);
  const tabs = useCurrentInView(screen);
  const problem = found.problem ?? list.problem ?? known.problem;
  const one = found.value;
  const ready = data.value.title === run && data.value !== EMPTY;
  return (
    <>
      <div class={screen === "run" ? "runhead" : "runhead short"} data-run={run} data-done={one && made(one)}>
        <div class="bar">
          <h2><bdi>{run}</bdi></h2>
          {one && <State run={one} />}
          {one && <small>{left(one.time_left_s)}</small>}
        </div>
        {one && (
          <>
            <Progress run={one} label="Progress" />
            <p class="numbers" role="status"><Numbers run={one} /></p>
            <p class="sum"><MoneyOf run={one} /></p>
            {screen === "run" && <Obstacles run={one} />}
          </>
        )}
      </div>
      <nav ref={tabs} class="tabs" aria-label="Views of the run">
        {TABS.filter(([tab]) => tab !== "judge" || may("judge")).map(([tab, word]) => <To key={tab} to={{ screen: tab, run, text: link.value.text, only: link.value.only, sort: link.value.sort }} aria-current={screen === tab ? "page" : undefined}>{word}</To>)}
      </nav>
      <Trouble problem={problem} />
      {!ready && !problem && <p class="empty">Loading…</p>}
      {ready && !whole.value && <p class="hint">This run has {count(one?.jobs.total ?? 0, "job")}; the first {count(data.value.jobs.length, "job")} that fit what is chosen are here.</p>}
      {ready && (screen === "run" ? <Jobs again={() => { found.again(); list.again(); }} />
        : screen === "grid" ? <Grid /> : screen === "compare" ? <Compare /> : screen === "summary" ? <Summary />
        : screen === "failures" ? <Failures /> : may("judge") ? <Judge /> : <MayNotJudge />)}
    </>
  );
}

const PAGE = 200;
const selected = signal<ReadonlySet<string>>(new Set());
/** The jobs that fit, in the order of the list. */
const fitting = computed<Job[]>(() => shown.value.flatMap((row) => [...row.jobs.values()]));
/** What an action is about: what is selected, else everything that fits. */
const meant = computed<Job[]>(() => (selected.value.size > 0 ? jobs.value.filter((job) => selected.value.has(job.job_id)) : fitting.value));

function toggle(job: string): void {
  const next = new Set(selected.value);
  if (!next.delete(job)) next.add(job);
  selected.value = next;
}

/** Selects everything that fits, or nothing if it is. */
export function selectAll(): void {
  const all = fitting.value.map((job) => job.job_id);
  selected.value = selected.value.size === all.length ? new Set() : new Set(all);
}

/** Selects the job of the line that has the focus. */
export function selectFocused(): void {
  const job = document.activeElement?.closest<HTMLElement>("tr[data-job]")?.dataset["job"];
  if (job) toggle(job);
}

function Jobs({ again }: { again: () => void }) {
  const [limit, setLimit] = useState(PAGE);
  const all = fitting.value;
  const names = data.value.items;
  return (
    <div class="browse">
      <Filters />
      <div class="listing">
        <Actions again={again} />
        {all.length === 0 ? <p class="empty">{jobs.value.length === 0 ? "This run has no jobs." : "Nothing fits these filters."}</p> : (
          <div class="results" tabIndex={0} role="region" aria-label="Jobs">
            <table class="jobs">
              <caption class="visually-hidden">Jobs that fit</caption>
              <thead>
                <tr>
                  {may("submit") && <th scope="col"><span class="visually-hidden">Selected</span></th>}
                  <th scope="col">Item</th><th scope="col">Algorithm</th><th scope="col">State</th><th scope="col" class="number">Time</th><th scope="col" class="number">Billed</th><th scope="col">Job</th>
                </tr>
              </thead>
              <tbody>
                {all.slice(0, limit).map((job) => {
                  const item = names[job.item]!;
                  return (
                    <tr key={job.job_id} data-job={job.job_id} data-state={job.state} class={selected.value.has(job.job_id) ? "chosen" : ""}>
                      {may("submit") && <td><input type="checkbox" aria-label={`Select ${itemName(item)} by ${job.algo}`} checked={selected.value.has(job.job_id)} onChange={() => toggle(job.job_id)} /></td>}
                      <th scope="row"><span class="what"><span class="thumb"><SourcePicture picture={item.pictures[0]} alt="" /></span><span><To to={{ screen: "job", run: job.run_id, job: job.job_id }} title={itemName(item)}><bdi class="two">{itemName(item)}</bdi></To><small class="two"><bdi>{item.product_id}</bdi></small></span></span></th>
                      <td class="maker" title={job.algo}><span><i class="dot" style={{ background: hue(job.algo) }} /><bdi class="two">{job.algo}</bdi></span></td>
                      <td><Chip status={job.state} />{job.attempts > 1 && <small> {job.attempts} attempts</small>}{job.state === "failed" && job.error && <span class="why" title={job.error}>{job.error_class && <strong>{job.error_class}: </strong>}{job.error}</span>}</td>
                      <td class="number">{seconds(job.seconds)}</td>
                      <td class="number">{usd(job.cost_micros)}</td>
                      <td><code>{job.job_id}</code></td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
            {all.length > limit && <p class="more"><button onClick={() => setLimit(limit + PAGE)}>show {Math.min(PAGE, all.length - limit)} more of {(all.length - limit).toLocaleString("en-US")}</button></p>}
          </div>
        )}
      </div>
    </div>
  );
}

async function inChunks(ids: string[], act: (filter: Filter) => Promise<void>): Promise<void> {
  for (const filter of named(ids)) await act(filter);
}

/** What these jobs cost at the prices of their algorithms. */
function price(list: Job[]): { text: string; unknown: number } {
  const prices = new Map((detail.value?.algos ?? []).map((one) => [one.algo, micros(one.unit_price_usd)]));
  const known = list.map((job) => prices.get(job.algo) ?? null);
  const unknown = known.filter((one) => one === null).length;
  return { text: priced(known.reduce<number>((sum, one) => sum + (one ?? 0), 0), unknown), unknown };
}

function Actions({ again }: { again: () => void }) {
  if (!may("submit")) return null;
  const list = meant.value;
  const of = (...states: Job["state"][]) => list.filter((job) => states.includes(job.state));
  const [open, failed, cancelled] = [of("enqueued", "rehearsed", "running"), of("failed"), of("cancelled")];
  const which = selected.value.size > 0 ? `${selected.value.size.toLocaleString("en-US")} selected` : `all ${count(list.length, "job")} that match${whole.value ? "" : " and are here"}`;
  return (
    <div class="actions" role="toolbar" aria-label="Actions">
      <span role="status">{which}</span>
      <button onClick={selectAll}>{selected.value.size > 0 ? "Select none" : "Select all that match"}<kbd>a</kbd></button>
      <button disabled={open.length === 0} onClick={() => askCancel(open, again)}>Cancel {open.length > 0 ? open.length.toLocaleString("en-US") : ""}…</button>
      <button disabled={failed.length === 0} onClick={() => void askRetry(link.value.run, failed, () => done(again))}>Retry {failed.length > 0 ? failed.length.toLocaleString("en-US") : ""}…</button>
      {cancelled.length > 0 && <button onClick={() => askUndo(cancelled, again)}>Put back {cancelled.length.toLocaleString("en-US")}…</button>}
    </div>
  );
}

function Unknown({ jobs }: { jobs: number }) {
  return jobs > 0 ? <p class="bad">{count(jobs, "of them has", "of them have")} no known price.</p> : null;
}

function askCancel(list: Job[], again: () => void): void {
  const { run } = link.value;
  const running = list.filter((job) => job.state === "running").length;
  const { text, unknown } = price(list.filter((job) => job.state !== "running"));
  question.value = {
    title: `Cancel ${count(list.length, "job")} of ${run}?`, button: `Cancel ${count(list.length, "job")}`, danger: true,
    body: (
      <>
        <p><b>{count(list.length - running, "job")}</b> that {list.length - running === 1 ? "waits is" : "wait are"} cancelled: <b class="money">{text}</b> will not be spent.</p>
        {running > 0 && <p><b>{count(running, "job")}</b> that {running === 1 ? "runs is" : "run are"} asked to stop; what a service has begun may still be billed.</p>}
        <Unknown jobs={unknown} />
        <p class="hint">Results that are there stay. Cancelled jobs can be put back.</p>
      </>
    ),
    act: async () => {
      const sum = { cancelled: 0, asked: 0, finished_already: 0 };
      await inChunks(list.map((job) => job.job_id), async (filter) => {
        const answer = await api.cancel(run, filter);
        sum.cancelled += answer.cancelled;
        sum.asked += answer.asked;
        sum.finished_already += answer.finished_already;
      });
      done(again);
      return `${count(sum.cancelled, "job")} cancelled${sum.asked > 0 ? `, ${sum.asked} asked to stop` : ""}${sum.finished_already > 0 ? `, ${sum.finished_already} had finished` : ""}`;
    },
  };
}

function askUndo(list: Job[], again: () => void): void {
  const { run } = link.value;
  const { text, unknown } = price(list);
  question.value = {
    title: `Put ${count(list.length, "job")} of ${run} back?`, button: `Put back for ${text}`,
    body: <><p><b>{count(list.length, "cancelled job")}</b> {list.length === 1 ? "waits" : "wait"} again, for {unknown === 0 && "about "}<b class="money">{text}</b>.</p><Unknown jobs={unknown} /></>,
    act: async () => {
      let restored = 0;
      await inChunks(list.map((job) => job.job_id), async (filter) => void (restored += (await api.cancel(run, filter, true)).restored));
      done(again);
      return `${count(restored, "job")} put back`;
    },
  };
}

function done(again: () => void): void {
  selected.value = new Set();
  again();
}

const MayNotJudge = () => <p class="empty">Judging needs a token with the role <b>judge</b>.</p>;

/** Where somebody starts who named no run: at the newest, a judge at the newest that has models. */
export function NoRun() {
  const { screen } = link.value;
  const { value, problem } = useLive("newest runs", () => api.runs({}, 1000), never);
  const fitting = value?.items.filter((run) => screen !== "judge" || made(run) > 0);
  const newest = fitting?.[0]?.run_id;
  useLayoutEffect(() => {
    if (newest && (screen !== "judge" || may("judge"))) visit({ screen, run: newest });
  }, [newest, screen]);
  if (screen === "judge" && !may("judge")) return <MayNotJudge />;
  return <><Trouble problem={problem} /><p class="empty">{!value ? problem ? "" : "Loading…" : value.items.length === 0 ? "There are no runs yet." : "No run has a model to judge yet."}</p></>;
}
