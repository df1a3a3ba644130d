// What each algorithm brought for the money.

import { Scatter, Strips } from "./charts";
import type { Strip } from "./charts";
import type { Job } from "./data";
import { differences, figures } from "./figures";
import type { Difference, Figures } from "./figures";
import { count, fixed, percent, seconds, usd } from "./format";
import { algos, data, go, jobs, run } from "./state";
import { quantile } from "./stats";

export function Summary() {
  const all = algos.value.map((algo) => figures(data.value, run.value, algo, jobs.value));
  if (all.length === 0) return <p class="empty">This run has no jobs that were really carried out.</p>;
  return (
    <>
      <Headline all={all} />
      <div class="cards">{all.map((one) => <Card key={one.algo} one={one} />)}</div>
      <Plots all={all} />
      <Pairs found={differences(jobs.value, algos.value)} />
    </>
  );
}

/** The sentence people came for. */
function Headline({ all }: { all: Figures[] }) {
  const judged = all.some((one) => one.perAcceptedMicros !== null);
  const price = (one: Figures) => (judged ? one.perAcceptedMicros : one.perSuccessMicros);
  const known = all.filter((one) => price(one) !== null).sort((a, b) => price(a)! - price(b)!);
  const total = all.reduce((sum, one) => sum + one.spentMicros, 0);
  const done = all.reduce((sum, one) => sum + one.done, 0);
  const failed = all.reduce((sum, one) => sum + one.failed, 0);
  return (
    <section class="headline" aria-label="In short">
      <p class="lead">
        {known.map((one, at) => (
          <span key={one.algo}>
            {at > 0 && ", "}
            <strong>{one.algo}</strong> costs {usd(price(one))}
          </span>
        ))}
        {known.length > 0 && (judged ? " per accepted model." : " per model.")}
      </p>
      <p>
        {count(done, "model")} for <strong>{usd(total)}</strong>{failed > 0 && `, ${count(failed, "failure")} included`}.
        {!judged && done > 0 && (
          <> Nobody has accepted or rejected a model yet: <button class="link" onClick={() => go({ screen: "judge" })}>judge them</button>.</>
        )}
      </p>
    </section>
  );
}

function Card({ one }: { one: Figures }) {
  const [low, high] = one.interval;
  const waiting = one.jobs - one.done - one.failed;
  return (
    <section class="card" aria-label={one.algo}>
      <h3>{one.algo}</h3>
      <p class="big">{usd(one.perSuccessMicros)}<small> per model</small></p>
      <div class="meter" role="img" aria-label={`${percent(one.success)} succeeded`}>
        <span style={{ width: `${one.success * 100}%` }} />
      </div>
      <dl>
        <dt>Done</dt><dd>{one.done} of {one.done + one.failed}{waiting > 0 && `, ${waiting} not ended`}</dd>
        <dt>Success</dt><dd>{percent(one.success)} <small>({percent(low)} to {percent(high)})</small></dd>
        <dt>Time</dt><dd>{seconds(one.medianSeconds)} <small>median, {seconds(one.p95Seconds)} p95</small></dd>
        <dt>Price each</dt><dd>{usd(one.eachMicros)}</dd>
        <dt>Spent in all</dt><dd>{usd(one.spentMicros)}</dd>
        {one.reservedMicros > 0 && (<><dt>Still open</dt><dd>{usd(one.reservedMicros)} <small>may have been billed</small></dd></>)}
        {one.scored > 0 && (<><dt>F-score</dt><dd>{fixed(one.medianScore)} <small>median of {one.scored}</small></dd></>)}
        {one.judged > 0 && (<><dt>Accepted</dt><dd>{one.accepted} of {one.judged} <small>judged</small></dd>
          <dt>Per accepted</dt><dd><strong>{usd(one.perAcceptedMicros)}</strong></dd></>)}
      </dl>
      {one.failed > 0 && (
        <button class="link" onClick={() => go({ screen: "failures", algos: [one.algo] })}>{count(one.failed, "failure")}</button>
      )}
    </section>
  );
}

function Plots({ all }: { all: Figures[] }) {
  const strips = (value: (job: Job) => number | null): Strip[] =>
    algos.value.flatMap((algo) => {
      const values = jobs.value
        .filter((job) => job.algo === algo && job.state === "completed")
        .map(value)
        .filter((found) => found !== null);
      if (values.length === 0) return [];
      const at = (share: number) => quantile(values, share) as number;
      return [{ label: algo, values: thin(values), low: at(0.25), middle: at(0.5), high: at(0.75) }];
    });
  const points = all
    .filter((one) => one.done > 0)
    .map((one, colour) => ({
      label: one.algo, x: one.medianSeconds ?? 0, y: (one.perSuccessMicros ?? 0) / 1e6, size: one.success, colour,
    }));
  const money = { label: "price per model", format: (value: number) => usd(Math.round(value * 1e6)) };
  const time = { label: "median time", format: seconds };
  const scores = strips((job) => (job.score?.status === "ok" ? job.score.fscore : null));
  return (
    <section aria-label="Plots" class="plots">
      <Scatter title="Price and time; larger dots succeed more often" x={time} y={money} points={points} />
      <Strips title="Time of a job" axis={{ label: "time", format: seconds }} strips={strips((job) => job.seconds)} />
      <Strips title="Price of a job" axis={money} strips={strips((job) => (job.cost_micros === null ? null : job.cost_micros / 1e6))} />
      {scores.length > 0 && <Strips title="F-score against the real model" axis={{ label: "F", format: (value) => value.toFixed(2) }} strips={scores} />}
    </section>
  );
}

/** Keeps at most 300 dots of a line, evenly chosen. */
function thin(values: number[]): number[] {
  const step = Math.ceil(values.length / 300);
  return values.filter((_, at) => at % step === 0);
}

function Pairs({ found }: { found: Difference[] }) {
  if (found.length === 0) return null;
  const shown = (one: Difference) => {
    const size = Math.abs(one.test.median);
    if (one.of === "price") return usd(size);
    return one.of === "time" ? seconds(size) : fixed(size);
  };
  const words = { price: ["costs more", "costs less"], time: ["takes longer", "is faster"], score: ["scores higher", "scores lower"] } as const;
  return (
    <section aria-label="Differences over the same items">
      <h2>Differences over the same items</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr><th scope="col">Difference (median)</th><th scope="col">Items</th><th scope="col">Larger on</th><th scope="col">p</th></tr>
          </thead>
          <tbody>
            {found.map((one) => (
              <tr key={`${one.first} ${one.second} ${one.of}`} class={one.test.p < 0.05 ? "" : "faint"}>
                <td>
                  {one.test.median === 0
                    ? `${one.first} and ${one.second}: same ${one.of}`
                    : `${one.first} ${words[one.of][one.test.median > 0 ? 0 : 1]} than ${one.second} by ${shown(one)}`}
                </td>
                <td>{one.test.pairs}</td>
                <td>{percent(one.test.larger)}</td>
                <td>{one.test.p < 0.001 ? "< 0.001" : one.test.p.toFixed(3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">Items that both finished, compared in pairs (Wilcoxon signed-rank, two-sided). Faint rows may be chance.</p>
    </section>
  );
}
