// All runs: how far they are, what they cost, what keeps them.

import { useState } from "preact/hooks";

import { STATUSES, api, micros } from "../api";
import type { Run, RunDetail } from "../api";
import { count, usd } from "../format";
import { choose, go, link } from "../state";
import { Chip, Copy, Progress, To, Trouble, When, left, made, may } from "./parts";
import { happened, ofRun, useLive } from "./live";

const PAGE = 25;
const MOST = 1000;

export function Runs() {
  const { text, only } = link.value;
  const [limit, setLimit] = useState(PAGE);
  const query = { ...(text.trim() ? { q: text.trim() } : {}), ...(only.state.length > 0 ? { status: only.state.join(",") } : {}) };
  const most = Math.min(MOST, limit + 1);
  const { value, problem } = useLive(`runs ${JSON.stringify(query)} ${most}`, () => api.runs(query, most));
  const runs = value?.items.slice(0, limit) ?? [];
  const active = runs.filter((run) => run.status === "running").length;
  const toggle = (status: string) => go(choose("state", only.state.includes(status) ? only.state.filter((one) => one !== status) : [...only.state, status]));
  return (
    <>
      <div class="bar">
        <h2>Runs</h2>
        <span role="group" aria-label="Which runs" class="choice">
          <button aria-pressed={only.state.length === 0} onClick={() => go(choose("state", []))}>all</button>
          {STATUSES.map((status) => <button key={status} aria-pressed={only.state.includes(status)} onClick={() => toggle(status)}>{status}</button>)}
        </span>
        <input type="search" aria-label="Search runs" placeholder="Search runs" value={text} onInput={(event) => go({ text: event.currentTarget.value })} />
        {may("submit") && <To class="button primary" to={{ screen: "new", run: "" }}>New run</To>}
      </div>
      <Trouble problem={problem} />
      {!value && !problem && <p class="empty">Loading…</p>}
      {value && runs.length === 0 && (
        <p class="empty">{text || only.state.length > 0 ? "No run fits." : <>No runs yet. {may("submit") ? <To to={{ screen: "new" }}>Start the first one</To> : "archi3d batch create makes one"}.</>}</p>
      )}
      <ul class="runs">{runs.map((run) => <RunCard key={run.run_id} run={run} />)}</ul>
      {value && (value.items.length > limit) && <button onClick={() => setLimit(limit + PAGE)}>show more</button>}
      <p class="visually-hidden" role="status">{value ? `${count(runs.length, "run")}, ${active} running` : ""}</p>
    </>
  );
}

function RunCard({ run }: { run: Run }) {
  const over = run.status !== "running" && run.status !== "enqueued";
  const concerns = ofRun(run.run_id);
  const { value, problem } = useLive(`run ${run.run_id}`, () => api.run(run.run_id), (told) => concerns(told) && (!over || happened(told)));
  const shown = value && !run.as_pulled ? value : run;
  return (
    <li class="card run" data-run={run.run_id} data-done={made(shown)}>
      <div class="name">
        <h3><To to={{ screen: "run", run: run.run_id }}><bdi>{run.run_id}</bdi></To></h3>
        <State run={shown} />
        <small><When at={run.created_at} />{run.submission?.created_by && <> by <bdi>{run.submission.created_by.replace(/^token:/, "")}</bdi></>}</small>
      </div>
      <div class="far">
        <Progress run={shown} label={run.run_id} />
        <p class="numbers"><Numbers run={shown} />{value && <span>{left(value.time_left_s)}</span>}</p>
      </div>
      <p class="sum">{value && <MoneyOf run={value} />}</p>
      {run.as_pulled ? <p class="bad">Its store cannot be asked. These are the numbers of the last pull.</p> : <Trouble problem={problem} />}
      {value && <Obstacles run={value} />}
    </li>
  );
}

/** The jobs of a run that dead workers hold; nobody works on them. */
const orphans = (run: Run | RunDetail): number => ("running" in run ? run.running.filter((job) => job.verdict === "dead").length : 0);

/** The state of a run: one whose jobs are all held by the dead does not run. */
export function State({ run }: { run: Run | RunDetail }) {
  const dead = orphans(run);
  if (run.status === "running" && dead > 0 && dead === run.jobs.running) return <span class="chip dead">worker died</span>;
  return <Chip status={run.status} />;
}

export function Numbers({ run }: { run: Run | RunDetail }) {
  const { jobs } = run;
  const dead = orphans(run);
  return (
    <>
      <b>{made(run).toLocaleString("en-US")} of {count(jobs.total, "job")}</b>
      {jobs.running > dead && <span>{(jobs.running - dead).toLocaleString("en-US")} running</span>}
      {dead > 0 && <span class="bad">{dead.toLocaleString("en-US")} left by a dead worker</span>}
      {jobs.enqueued > 0 && <span>{jobs.enqueued.toLocaleString("en-US")} waiting</span>}
      {jobs.failed > 0 && <To class="bad" to={{ screen: "failures", run: run.run_id }}>{jobs.failed.toLocaleString("en-US")} failed</To>}
      {jobs.cancelled > 0 && <span>{jobs.cancelled.toLocaleString("en-US")} cancelled</span>}
      {run.rehearsed > 0 && <span>{run.rehearsed.toLocaleString("en-US")} only rehearsed</span>}
    </>
  );
}

export function MoneyOf({ run }: { run: RunDetail }) {
  const { spent_usd, reserved_usd, to_finish_usd, to_finish_unpriced_jobs, limits } = run.money;
  return (
    <span class="moneys">
      <span><b class="money">{usd(micros(spent_usd))}</b> spent</span>
      {reserved_usd > 0 && <span>{usd(micros(reserved_usd))} reserved</span>}
      {to_finish_usd > 0 && <span>{usd(micros(to_finish_usd))} to finish</span>}
      {to_finish_unpriced_jobs > 0 && <span class="bad">{count(to_finish_unpriced_jobs, "job")} without a price</span>}
      {limits.map((limit) => <span key={limit.of}>limit {usd(micros(limit.cap_usd))} {limit.of === "day" ? "a day" : "for the run"}, {usd(micros(limit.left_usd))} left</span>)}
    </span>
  );
}

/** What keeps a run from getting on, each with the way to it. */
export function Obstacles({ run }: { run: RunDetail }) {
  const shut = [...run.closed_providers.map((one) => ({ ...one, word: "closed" })), ...run.paused_algos.map((one) => ({ ...one, word: "paused" }))];
  const dead = orphans(run);
  const workers = useLive(dead > 0 ? "workers" : "no workers", () => (dead > 0 ? api.workers() : Promise.resolve([])));
  const lives = workers.value?.some((one) => one.state === "alive" && (one.run_id ?? run.run_id) === run.run_id) ?? true;
  if (shut.length + run.failure_groups.length + run.warnings.length + dead === 0) return null;
  const resume = `archi3d run worker ${run.run_id} --only-status enqueued,running`;
  return (
    <ul class="obstacles">
      {dead > 0 && (
        <li><strong class="bad">{lives ? "a worker died" : "no worker is running"}</strong> <span class="why">{count(dead, "job")} of a dead one {dead === 1 ? "goes" : "go"} on with</span> <code>{resume}</code> <Copy text={resume} what="the command" /></li>
      )}
      {shut.map((one) => (
        <li key={`${one.word} ${one.provider}`}><strong class="bad">{one.word}</strong> <To to={{ screen: "workers", run: "" }}><bdi>{one.provider}</bdi></To> <span class="why">{one.reason}</span></li>
      ))}
      {run.failure_groups.slice(0, 3).map((group) => (
        <li key={group.message}><strong class="bad">{group.count}×</strong> <To to={{ screen: "failures", run: run.run_id }} title={group.message}><span class="why">{group.message}</span></To> <small>{group.algos.join(", ")}</small></li>
      ))}
      {run.failure_groups.length > 3 && <li><To to={{ screen: "failures", run: run.run_id }}>{count(run.failure_groups.length - 3, "more reason")}</To></li>}
      {run.warnings.map((warning) => <li key={warning}><strong>note</strong> <span class="why">{warning}</span></li>)}
    </ul>
  );
}
