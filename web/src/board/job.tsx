// One job: what it made, why it is where it is, what was tried, what was said.

import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";

import { api, micros } from "../api";
import type { Attempt, Explanation, OneJob } from "../api";
import { bytes, count, seconds, usd } from "../format";
import { close } from "../stage";
import { Stand } from "../stand";
import { link } from "../state";
import { modelOf } from "./data";
import { connection, following, ofRun, stream, useLive } from "./live";
import type { Told } from "./live";
import { Chip, Copy, To, Trouble, When, may, question } from "./parts";
import { askRetry } from "./retry";

export function JobPage() {
  const { run, job } = link.value;
  const own = ofRun(run);
  const concerns = (told: Told) => own(told) && (told.data.job_id === undefined || told.data.job_id === job);
  const found = useLive(`job ${run} ${job}`, () => api.job(run, job), concerns);
  const why = useLive(`explain ${run} ${job}`, () => api.explain(run, job), concerns);
  const item = found.value?.item;
  const pictures = useLive(`item ${item}`, () => (item ? api.item(item) : Promise.resolve(null)), () => false);
  useEffect(() => () => void close(), []);
  const one = found.value;
  const model = one && modelOf(one.model, one.previews);
  const name = pictures.value?.name || one?.product_id || job;
  const again = () => {
    found.again();
    why.again();
  };
  return (
    <>
      <p class="crumbs"><To to={{ screen: "run", run }}><bdi>{run}</bdi></To> ›</p>
      <div class="bar">
        <h2><bdi>{name}</bdi>{one && one.variant !== "default" && <small><bdi>{one.variant}</bdi></small>}{one && <small>by <bdi>{one.algo}</bdi></small>}</h2>
        {one && <Chip status={one.status} />}
        <span class="line"><code>{job}</code><Copy text={job} what="the job's id" /></span>
        {one && <JobActions job={one} again={again} />}
      </div>
      <Trouble problem={found.problem} />
      {!one && !found.problem && <p class="empty">Loading…</p>}
      {one && (
        <>
          <div class="jobpage">
            <div class="looks">
              <figure>
                <figcaption>Model</figcaption>
                {model ? <Stand model={model} label={`${name} by ${one.algo}`} /> : <div class={`stand nothing ${one.status}`}><span class="note only">{one.status === "failed" ? one.error ?? "it failed" : one.status === "running" ? "being made" : "no model yet"}</span></div>}
              </figure>
              {(pictures.value?.pictures.length ?? 0) > 0 && (
                <figure class="sources small"><figcaption>Made from</figcaption>{pictures.value!.pictures.map((picture) => <img key={picture.href} src={picture.href} alt={picture.name} loading="lazy" />)}</figure>
              )}
            </div>
            <div class="facts">
              <Why why={why.value} problem={why.problem} />
              <dl>
                <dt>Item</dt><dd><bdi>{one.product_id}</bdi> <To to={{ screen: "compare", run, item: one.item }}>compare with the others</To></dd>
                <dt>Billed</dt><dd>{usd(micros(one.cost_usd))}</dd>
                <dt>Took</dt><dd>{seconds(one.duration_s)}</dd>
                <dt>Worker</dt><dd><bdi>{one.worker ?? "–"}</bdi></dd>
                {one.request_id && <><dt>Request</dt><dd><code>{one.request_id}</code> <Copy text={one.request_id} what="the request id" /></dd></>}
              </dl>
              <Timeline attempts={one.attempts} />
              <Files job={one} />
            </div>
          </div>
          <Log run={run} job={job} />
        </>
      )}
    </>
  );
}

function Why({ why, problem }: { why: Explanation | null; problem: string | null }) {
  if (!why) return <Trouble problem={problem} />;
  const { numbers } = why;
  return (
    <section class="why-box" aria-labelledby="why">
      <h3 id="why">Why it is where it is</h3>
      {why.why.map((line) => <p key={line}>{line}</p>)}
      {why.warnings.map((line) => <p key={line} class="bad">{line}</p>)}
      <p class="numbers">
        {numbers.unit_price_usd !== null && <span>{usd(micros(numbers.unit_price_usd))} each</span>}
        {numbers.reserved_usd !== null && <span>{usd(micros(numbers.reserved_usd))} reserved</span>}
        {numbers.median_s !== null && <span>{seconds(numbers.median_s)} as a rule</span>}
        {numbers.retries > 0 && <span>{numbers.failures} of {count(numbers.retries, "retry", "retries")} used</span>}
        {numbers.not_before && <span>not before {new Date(numbers.not_before).toLocaleTimeString()}</span>}
      </p>
      {(why.next ?? []).map((step) => (
        <p key={step.command} class="next"><span>To {step.what}:</span><code>{step.command}</code><Copy text={step.command} what="the command" /></p>
      ))}
    </section>
  );
}

function JobActions({ job, again }: { job: OneJob; again: () => void }) {
  const { run } = link.value;
  if (!may("submit")) return null;
  const filter = { jobs: `^(${job.job_id})$` };
  if (job.status === "failed") {
    return <button onClick={() => void askRetry(run, [job], again)}>Retry…</button>;
  }
  if (job.status === "enqueued" || job.status === "running" || job.status === "rehearsed") {
    return <button onClick={() => (question.value = {
      title: "Cancel it?", button: "Cancel the job", danger: true,
      body: <p>{job.status === "running" ? <><b>1 job</b> that runs is asked to stop; what a service has begun may still be billed.</> : <><b>1 job</b> that waits is taken out. Nothing is billed for it.</>}</p>,
      act: async () => {
        const { cancelled, asked } = await api.cancel(run, filter);
        again();
        return cancelled > 0 ? "Cancelled" : asked > 0 ? "Asked to stop" : "It had finished";
      },
    })}>Cancel…</button>;
  }
  return null;
}

/** Attempts on one line of time: who tried, how long, how it ended, what it cost. */
function Timeline({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return null;
  const starts = attempts.map((one) => Date.parse(one.started ?? "")).filter(Number.isFinite);
  const ends = attempts.map((one) => Date.parse(one.ended ?? "") || Date.now());
  const [from, to] = [Math.min(...starts), Math.max(...ends)];
  const share = (at: number) => (to > from ? ((at - from) / (to - from)) * 100 : 0);
  return (
    <section aria-labelledby="attempts">
      <h3 id="attempts">{count(attempts.length, "attempt")}</h3>
      <div class="scroll" tabIndex={0} role="region" aria-label="Attempts">
        <table class="figures attempts">
          <thead><tr><th scope="col">#</th><th scope="col">Ended</th><th scope="col">When</th><th scope="col">Time</th><th scope="col" class="number">Billed</th><th scope="col">Worker</th><th scope="col">Request</th></tr></thead>
          <tbody>
            {attempts.map((one) => {
              const start = Date.parse(one.started ?? "");
              const end = Date.parse(one.ended ?? "") || Date.now();
              const outcome = one.outcome ?? "running";
              return (
                <Fragment key={one.attempt}>
                <tr>
                  <td>{one.attempt}</td>
                  <td><Chip status={outcome} />{one.class && <small> {one.class}</small>}{one.simulated && <small> rehearsal</small>}{one.resumed && <small> went on with a purchase</small>}</td>
                  <td><When at={one.started} /></td>
                  <td><span class="lane"><i class={outcome} style={{ left: `${share(start)}%`, width: `max(3px, ${share(end) - share(start)}%)` }} /></span> {seconds(one.duration_s)}</td>
                  <td class="number">{usd(micros(one.cost_usd))}</td>
                  <td><bdi>{one.worker ?? "–"}</bdi></td>
                  <td>{one.request_id ? <><code title={one.request_id}>{one.request_id.length > 16 ? `${one.request_id.slice(0, 12)}…` : one.request_id}</code> <Copy text={one.request_id} what="the request id" /></> : "–"}</td>
                </tr>
                {one.error && <tr class="said-of"><td /><td colSpan={6}><p>{one.error}</p></td></tr>}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Files({ job }: { job: OneJob }) {
  if (job.artifacts.length === 0) return null;
  return (
    <section aria-labelledby="files">
      <h3 id="files">Files</h3>
      <div class="scroll" tabIndex={0} role="region" aria-label="Files">
        <table class="figures">
          <thead><tr><th scope="col">Name</th><th scope="col" class="number">Size</th><th scope="col">SHA-256</th></tr></thead>
          <tbody>
            {job.artifacts.map((file) => (
              <tr key={file.name}>
                <th scope="row"><a href={file.href} download={`${job.product_id}-${job.algo}-${file.name}`}>{file.name}</a></th>
                <td class="number">{bytes(file.bytes)}</td>
                <td><code title={file.sha256}>{(file.sha256 ?? "").slice(0, 16)}…</code> <Copy text={file.sha256} what="the hash" /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {job.result && <p class="hint">In the workspace: <code>{job.result}</code> <Copy text={job.result} what="the path" /></p>}
    </section>
  );
}

const MOST_LINES = 500;

/** The lines of the workers' log that are about this job, from the beginning and as they come. */
function Log({ run, job }: { run: string; job: string }) {
  const [lines, setLines] = useState<Told[]>([]);
  const on = following.value && connection.value === "live";
  useEffect(() => {
    if (!on) return undefined;
    const stop = new AbortController();
    let waiting: Told[] = [];
    let frame = 0;
    setLines([]);
    const query = new URLSearchParams({ run_id: run, job_id: job });
    void stream(`?${query}`, { last: "0" }, stop.signal, (told) => {
      if (told.event === "bye") return;
      waiting.push(told);
      // Many lines come at once at first.
      frame ||= requestAnimationFrame(() => {
        const some = waiting;
        waiting = [];
        frame = 0;
        setLines((before) => [...before, ...some].slice(-MOST_LINES));
      });
    }).catch(() => undefined);
    return () => {
      stop.abort();
      cancelAnimationFrame(frame);
    };
  }, [run, job, on]);
  if (lines.length === 0) return null;
  return (
    <section aria-labelledby="log">
      <h2 id="log">Log</h2>
      <ol class="log" tabIndex={0} aria-label="Log lines">
        {lines.map(({ id, event, data }) => <li key={id}><time>{data.timestamp ? new Date(data.timestamp).toLocaleTimeString() : ""}</time> <b class={/failed|warning|closed/.test(event) ? "bad" : ""}>{event}</b> <span>{rest(data)}</span></li>)}
      </ol>
    </section>
  );
}

const SHOWN_ABOVE = new Set(["event", "timestamp", "run_id", "job_id"]);
function rest(data: Told["data"]): string {
  return Object.entries(data).filter(([name, value]) => !SHOWN_ABOVE.has(name) && value !== null && value !== "").map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ");
}
