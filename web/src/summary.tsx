// What each algorithm brought for the money.

import { signal } from "@preact/signals";
import { Fragment } from "preact";

import { Scatter, Strips } from "./charts";
import type { Strip } from "./charts";
import type { Job } from "./data";
import { MEASURES, differences, figures, scoreOf } from "./figures";
import type { Difference, Figures, Measure } from "./figures";
import { about, count, fixed, percent, range, seconds, usd } from "./format";
import { Price, isUnknown } from "./price";
import { Votes } from "./votes";
import { algos, choose, data, go, hue, jobs, link, run, verdicts } from "./state";
import { quantile, wilson } from "./stats";

const categoryOf = (job: Job) => data.value.items[job.item]!.category;

export function Summary() {
  const wanted = link.value.only.category;
  const own = wanted.length === 0 ? jobs.value : jobs.value.filter((job) => wanted.includes(categoryOf(job)));
  const all = algos.value
    .map((algo) => figures(data.value, run.value, algo, own, verdicts.value, wanted.length === 0))
    .filter((one) => one.jobs > 0);
  const judged = all.some((one) => one.judged > 0);
  const price = (one: Figures) => (judged ? one.perAcceptedMicros : one.perSuccessMicros);
  // Who may have cost more than is known is not cheaper than anybody.
  const rank = (one: Figures) => (price(one) === null ? 2 : Number(one.unknown > 0));
  const sorted = [...all].sort((a, b) => rank(a) - rank(b) || (price(a) ?? 0) - (price(b) ?? 0));
  if (all.length === 0) return <p class="empty">This run has no jobs that were really carried out.</p>;
  return (
    <>
      <Headline sorted={sorted} judged={judged} price={price} />
      <div class="cards">{sorted.map((one) => <Card key={one.algo} one={one} judged={judged} />)}</div>
      <Votes all={all} judged={judged} />
      <ByCategory judged={judged} />
      <Plots all={all} own={own} />
      <Pairs own={own} />
    </>
  );
}

/** The sentence people came for. */
function Headline({ sorted, judged, price }: { sorted: Figures[]; judged: boolean; price: (one: Figures) => number | null }) {
  const wanted = link.value.only.category;
  const known = sorted.filter((one) => price(one) !== null && one.unknown === 0);
  const vague = sorted.filter((one) => one.unknown > 0 && one.done > 0 && (price(one) !== null || isUnknown(one)));
  const never = sorted.filter((one) => one.judged > 0 && one.accepted === 0);
  const barren = sorted.filter((one) => one.done === 0 && one.failed > 0);
  const left = wanted.length > 0 ? [] : data.value.costs.filter((cost) => cost.run_id === run.value && !algos.value.includes(cost.algo));
  const sum = (value: (one: Figures) => number) => sorted.reduce((total, one) => total + value(one), 0);
  const spent = sum((one) => one.spentMicros) + left.reduce((total, cost) => total + cost.spent_micros, 0);
  const open = sum((one) => one.reservedMicros) + left.reduce((total, cost) => total + cost.reserved_micros, 0);
  const unknown = sum((one) => one.unknown) + left.reduce((total, cost) => total + cost.unknown, 0);
  const [done, failed] = [sum((one) => one.done), sum((one) => one.failed)];
  const waiting = sum((one) => one.jobs) - done - failed;
  return (
    <section class="headline" aria-label="In short">
      <CategoryChoice />
      <p class="lead">
        {known.map((one, at) => (
          <span key={one.algo}>
            {at > 0 && (at === known.length - 1 ? " and " : ", ")}
            <strong><bdi>{one.algo}</bdi></strong>{at === 0 && " costs"} <b class="money">{about(price(one))}</b>{at === 0 && (judged ? " per accepted model" : " per model")}
          </span>
        ))}
        {known.length > 0 ? "." : vague.length === 0 && "No model was made yet."}
        {vague.map((one, at) => <span key={one.algo}>{(known.length > 0 || at > 0) && " "}<strong><bdi>{one.algo}</bdi></strong>: <Price micros={price(one)} one={one} />.</span>)}
      </p>
      <p class="sub">
        {count(done, "model")} for {unknown > 0 && "at least "}<strong class="total">{usd(spent)}</strong>
        {failed > 0 && <>, <button class="link" onClick={() => go({ screen: "failures" })}>{count(failed, "failure")}</button> included</>}
        {waiting > 0 && <>, {count(waiting, "job")} not ended</>}.
        {open > 0 && <> {usd(open)} are still reserved and may have been billed.</>}
        {unknown > 0 && <> {count(unknown, "attempt")} may have been billed, amount unknown.</>}
        {left.some((cost) => cost.spent_micros > 0) && <> {usd(left.reduce((total, cost) => total + cost.spent_micros, 0))} of it went to jobs that are not shown.</>}
        {never.length > 0 && known.length > 0 && <> No model by {never.map((one) => one.algo).join(", ")} was accepted.</>}
        {barren.map((one) => <span key={one.algo}> <bdi>{one.algo}</bdi>: {isUnknown(one) ? "price unknown" : `${usd(one.spentMicros)} spent`}, no model.</span>)}
        {!judged && done > 0 && <> No model was accepted or rejected yet: <button class="link" onClick={() => go({ screen: "judge" })}>judge them</button>.</>}
      </p>
    </section>
  );
}

const categories = () => [...new Set(jobs.value.map(categoryOf))].filter(Boolean).sort();

function CategoryChoice() {
  const known = categories();
  const wanted = link.value.only.category;
  if (known.length < 2) return known[0] ? <p class="over"><bdi>{known[0]}</bdi></p> : null;
  return (
    <p class="over">
      <select aria-label="Category" value={wanted.length === 1 ? wanted[0] : ""} onChange={(event) => go(choose("category", event.currentTarget.value ? [event.currentTarget.value] : []))}>
        <option value="">{wanted.length > 1 ? wanted.join(", ") : "All categories"}</option>
        {known.map((one) => <option key={one}>{one}</option>)}
      </select>
    </p>
  );
}

function Card({ one, judged }: { one: Figures; judged: boolean }) {
  const [low, high] = one.interval;
  const waiting = one.jobs - one.done - one.failed;
  const failures = () => go({ screen: "failures", ...choose("algo", [one.algo]) });
  return (
    <section class="card" aria-label={one.algo} style={{ "--own": hue(one.algo) }}>
      <h3><i class="dot" style={{ background: hue(one.algo) }} /><bdi>{one.algo}</bdi></h3>
      <p class="big"><Price micros={judged ? one.perAcceptedMicros : one.perSuccessMicros} one={one} />{!isUnknown(one) && <> <small>{judged ? "per accepted model" : "per model"}</small></>}</p>
      <div class="meter" role="img" aria-label={`${percent(one.success)} succeeded, 95 % interval ${range(low, high)}`}>
        <span style={{ width: `${one.success * 100}%` }} />
        <i style={{ left: `${low * 100}%`, width: `${(high - low) * 100}%` }} />
      </div>
      <dl>
        <dt>Done</dt><dd>{one.done} of {one.done + one.failed} <small>{percent(one.success)} ({range(low, high)})</small></dd>
        {one.failed > 0 && (<><dt>Failed</dt><dd><button class="link" onClick={failures}>{one.failed}</button></dd></>)}
        {waiting > 0 && (<><dt>Not ended</dt><dd>{waiting}</dd></>)}
        {judged && (<><dt>Accepted</dt><dd>{one.judged > 0 ? <>{one.accepted} of {one.judged} <small>judged ({range(...wilson(one.accepted, one.judged))})</small></> : "not judged"}</dd></>)}
        <dt>Price each</dt><dd>{one.eachMicros === null && one.unknown > 0 ? "unknown" : <>{usd(one.eachMicros)} <small>median</small></>}</dd>
        {judged && (<><dt>Per model</dt><dd><Price micros={one.perSuccessMicros} one={one} /></dd></>)}
        <dt>Spent</dt><dd>{isUnknown(one) ? "unknown" : usd(one.spentMicros)} <small>{one.unknown > 0 ? `and ${count(one.unknown, "attempt")} of unknown price` : "with failures"}</small></dd>
        {one.reservedMicros > 0 && (<><dt>Still open</dt><dd>{usd(one.reservedMicros)}</dd></>)}
        <dt>Time</dt><dd>{seconds(one.medianSeconds)} <small>median</small>{one.p95Seconds !== null && <> · {seconds(one.p95Seconds)} <small>p95</small></>}</dd>
        <Scored one={one} />
        {one.measures.map(({ name, median, of }) => <Fragment key={name}><dt><bdi>{name}</bdi></dt><dd>{Number(median.toPrecision(4))} <small>median of {of}</small></dd></Fragment>)}
      </dl>
    </section>
  );
}

/** The median score, of how many, and what does not count. */
function Scored({ one }: { one: Figures }) {
  const unscored = Object.entries(one.unscored).map(([why, times]) => `${times} ${why}`);
  const all = Object.values(one.unscored).reduce((sum, times) => sum + times, one.scored);
  if (all === 0) return null;
  return <><dt>F-score</dt><dd>{fixed(one.medianScore)} <small>{one.scored > 0 && "median "}of {[all === one.scored ? `${all}` : `${one.scored} of ${all}`, ...unscored].join("; ")}</small></dd></>;
}

/** What one model costs, by what is made. */
function ByCategory({ judged }: { judged: boolean }) {
  const known = categories();
  if (known.length < 2 || link.value.only.category.length > 0) return null;
  const cell = (category: string, algo: string) => {
    const own = jobs.value.filter((job) => categoryOf(job) === category);
    const one = figures(data.value, run.value, algo, own, verdicts.value, false);
    if (one.jobs === 0) return <span class="faint">–</span>;
    if (one.done === 0) return <span class="faint">{one.failed > 0 ? "failed" : "not ended"}</span>;
    if (judged && one.judged === 0) return <span class="faint">not judged</span>;
    return <><Price micros={judged ? one.perAcceptedMicros : one.perSuccessMicros} one={one} /> <small>{judged ? `${one.accepted} of ${one.judged}` : `${one.done} of ${one.done + one.failed}`}</small></>;
  };
  return (
    <section aria-labelledby="by-category">
      <h2 id="by-category">Price per {judged ? "accepted model" : "model"}, by category</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Price by category">
        <table class="figures">
          <thead><tr><th scope="col">Category</th>{algos.value.map((algo) => <th scope="col" key={algo}><bdi>{algo}</bdi></th>)}</tr></thead>
          <tbody>
            {known.map((category) => (
              <tr key={category}>
                <th scope="row"><button class="link" onClick={() => go(choose("category", [category]))}><bdi>{category}</bdi></button></th>
                {algos.value.map((algo) => <td key={algo}>{cell(category, algo)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">{judged ? "Small: accepted of judged." : "Small: done of ended."}</p>
    </section>
  );
}

function Plots({ all, own }: { all: Figures[]; own: Job[] }) {
  const strips = (value: (job: Job) => number | null): Strip[] =>
    algos.value.flatMap((algo) => {
      const values = own.filter((job) => job.algo === algo && job.state === "completed").map(value).filter((found) => found !== null);
      if (values.length === 0) return [];
      const at = (share: number) => quantile(values, share) as number;
      return [{ label: algo, colour: hue(algo), values: thin(values), quantiles: [at(0.05), at(0.25), at(0.5), at(0.75), at(0.95)] }];
    });
  const points = all.filter((one) => one.done > 0 && one.unknown === 0).map((one) => ({
    label: one.algo, x: one.medianSeconds ?? 0, y: (one.perSuccessMicros ?? 0) / 1e6, size: one.success, colour: hue(one.algo),
  }));
  const money = { label: "price per model", format: (value: number) => usd(Math.round(value * 1e6)) };
  const prices = strips((job) => (job.cost_micros === null ? null : job.cost_micros / 1e6));
  const scores = strips(scoreOf);
  if (!all.some((one) => one.done > 0)) return null;
  return (
    <section aria-labelledby="spread">
      <h2 id="spread">Price, time and quality</h2>
      <div class="plots">
        {points.length > 0 && <Scatter title="Price and time" hint="Larger dots succeed more often; below and to the left is better." x={{ label: "median time", format: seconds }} y={money} points={points} />}
        <div>
          <Strips title="Time of a job" axis={{ label: "time", format: seconds }} strips={strips((job) => job.seconds)} />
          {prices.length > 0 && <Strips title="Price of a job" axis={money} strips={prices} />}
          {scores.length > 0 && <Strips title="F-score against the real model" axis={{ label: "F", format: (value) => value.toFixed(2) }} strips={scores} />}
        </div>
      </div>
      <p class="hint">Each dot is a job; the box holds the middle half, the thick line is the median, the thin one goes from 5 to 95 %.</p>
    </section>
  );
}

/** Keeps at most 300 dots of a line, evenly chosen. */
function thin(values: number[]): number[] {
  const step = Math.ceil(values.length / 300);
  return values.filter((_, at) => at % step === 0);
}

const measure = signal<Measure>("price");
const WORDS: Record<Measure, [string, string]> = {
  price: ["costs more than", "costs less than"], time: ["takes longer than", "is faster than"], score: ["scores higher than", "scores lower than"],
};

function Pairs({ own }: { own: Job[] }) {
  if (algos.value.length < 2) return null;
  const scored = own.some((job) => scoreOf(job) !== null);
  const of = measure.value === "score" && !scored ? "price" : measure.value;
  const { found, few } = differences(own, algos.value, of);
  const dropped = found.some((one) => one.dropped > 0);
  const size = (one: Difference) => {
    const gap = Math.abs(one.test.median);
    return of === "price" ? usd(gap) : of === "time" ? seconds(gap) : fixed(gap);
  };
  return (
    <section aria-labelledby="pairs">
      <h2 id="pairs">Differences over the same items</h2>
      <span role="group" aria-label="Difference of" class="choice">
        {MEASURES.filter((one) => one !== "score" || scored).map((one) => (
          <button key={one} aria-pressed={of === one} onClick={() => (measure.value = one)}>{one}</button>
        ))}
      </span>
      {found.length === 0 ? <p class="hint">No two algorithms finished five items in common: too few to tell them apart.</p> : (
        <>
          <div class="scroll" tabIndex={0} role="region" aria-label="Differences">
            <table class="figures">
              <thead>
                <tr><th scope="col">On the median item</th><th scope="col">by</th><th scope="col">on so many items</th><th scope="col">of</th>{dropped && <th scope="col">left out</th>}<th scope="col">p</th></tr>
              </thead>
              <tbody>
                {found.map((one) => {
                  const up = one.test.median > 0;
                  return (
                    <tr key={`${one.first} ${one.second}`} class={one.p < 0.05 ? "" : "faint"}>
                      <td class="sentence">{one.test.median === 0
                        ? <><bdi>{one.first}</bdi> and <bdi>{one.second}</bdi>: the same {of}</>
                        : <><bdi>{one.first}</bdi> {WORDS[of][up ? 0 : 1]} <bdi>{one.second}</bdi></>}</td>
                      <td>{one.test.median === 0 ? "–" : size(one)}</td>
                      <td>{percent(up ? one.test.larger : 1 - one.test.larger)}</td>
                      <td>{one.test.pairs}</td>
                      {dropped && <td>{one.dropped}</td>}
                      <td>{one.p < 0.001 ? "< 0.001" : one.p.toFixed(3)}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
          <p class="hint">Items that both finished, in pairs: Wilcoxon's signed-rank test, two-sided, corrected for the number of pairs (Holm). Grey rows may be chance.{dropped && ` Left out: items that one of the two did not finish${of === "score" ? " or that have no score" : ""}; if those are the hard ones, the rest looks better than it is.`}</p>
        </>
      )}
      {few.length > 0 && found.length > 0 && <p class="hint">Not compared, because fewer than five items are finished by both: {few.map((one) => `${one.first} and ${one.second} (${one.common})`).join(", ")}.</p>}
    </section>
  );
}
