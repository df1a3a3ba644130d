// What was paid, by day, algorithm, run or worker, beside the limits that hold.

import { GROUPS, api, micros } from "../api";
import type { Costs as Report, Group, Tally } from "../api";
import { Columns } from "../charts";
import { about, begins, count, priced, usd } from "../format";
import { go, link } from "../state";
import { useLive } from "./live";
import { Copy, To, Trouble } from "./parts";

const WORDS: Record<Group, string> = { day: "Day", algo: "Algorithm", run: "Run", worker: "Worker" };

export function Costs() {
  const by = GROUPS.find((one) => one === link.value.by) ?? "day";
  const { from, to } = link.value;
  const { value, problem } = useLive(`costs ${by} ${from} ${to}`, () => api.costs(by, from, to));
  // The limit of a day is the workspace's: any run tells it.
  const limits = useLive("limits", async () => {
    const newest = (await api.runs({}, 1)).items[0];
    return newest ? (await api.run(newest.run_id)).money.limits : [];
  });
  const daily = limits.value?.find((one) => one.of === "day") ?? null;
  const lines = sorted(value, by);
  const total = value?.total;
  return (
    <>
      <div class="bar">
        <h2>Costs</h2>
        <span role="group" aria-label="Sums by" class="choice">
          {GROUPS.map((one) => <button key={one} aria-pressed={by === one} onClick={() => go({ by: one === "day" ? "" : one })}>by {one}</button>)}
        </span>
        {by === "day" && (
          <span class="line">
            <label class="line">from <input type="date" value={from} onChange={(event) => go({ from: event.currentTarget.value })} /></label>
            <label class="line">to <input type="date" value={to} onChange={(event) => go({ to: event.currentTarget.value })} /></label>
          </span>
        )}
      </div>
      <Trouble problem={problem} />
      {total && (
        <p class="lead" role="status">
          <b class="money">{begins(priced(micros(total.billed_usd), total.unknown_cost_attempts))}</b> for {count(total.completed, "model")}
          {total.completed > 0 && total.unknown_cost_attempts === 0 && <>, <b class="money">{each(total)}</b> each</>}.
        </p>
      )}
      {value && (
        <p class="sub">
          {count(value.total.attempts, "attempt")}, {value.total.failed} failed{value.total.reused > 0 && `, ${value.total.reused} copied instead of bought`}.
          {value.ledger.reserved_usd > 0 && <> {usd(micros(value.ledger.reserved_usd))} is reserved.</>}
          {value.total.unknown_cost_attempts > 0 && <strong class="bad"> {count(value.total.unknown_cost_attempts, "attempt")} may have been billed, amount unknown.</strong>}
          {daily && <> Limit of a day: {usd(micros(daily.cap_usd))}, of which {usd(micros(daily.left_usd))} {daily.left_usd === 0 ? "are" : "is"} left today.</>}
        </p>
      )}
      {by === "day" && lines.length > 0 && (
        <Columns title="Billed by day" format={(dollars) => usd(micros(dollars))} limit={daily && { value: daily.cap_usd, label: `limit ${usd(micros(daily.cap_usd))}` }}
          bars={[...lines].reverse().map((line) => ({ label: line.name, value: line.billed_usd }))} />
      )}
      {lines.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Costs by ${by}`}>
          <table class="figures">
            <thead><tr><th scope="col">{WORDS[by]}</th><th scope="col" class="number">Billed</th><th scope="col"><span class="visually-hidden">Share</span></th><th scope="col" class="number">Models</th><th scope="col" class="number">Each</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Copied</th><th scope="col" class="number">Price unknown</th></tr></thead>
            <tbody>
              {lines.map((line) => (
                <tr key={line.name}>
                  <th scope="row">{by === "run" ? <To to={{ screen: "summary", run: line.name }}><bdi>{line.name}</bdi></To> : <bdi>{line.name}</bdi>}</th>
                  <td class="number"><b>{line.billed_usd === 0 && line.unknown_cost_attempts > 0 ? "unknown" : usd(micros(line.billed_usd))}</b></td>
                  <td><span class="share"><i style={{ width: `${(line.billed_usd / Math.max(...lines.map((one) => one.billed_usd), 1e-9)) * 100}%` }} /></span></td>
                  <td class="number">{line.completed}</td>
                  <td class="number">{each(line)}</td>
                  <td class="number">{line.failed}</td>
                  <td class="number">{line.reused}</td>
                  <td class={line.unknown_cost_attempts > 0 ? "number bad" : "number"}>{line.unknown_cost_attempts}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {value && lines.length === 0 && <p class="empty">Nothing was tried {from || to ? "in these days" : "yet"}.</p>}
      {value && value.ledger.open.length > 0 && (
        <section aria-labelledby="open">
          <h2 id="open">Reserved, without a worker</h2>
          <ul class="obstacles">
            {value.ledger.open.map((one) => {
              const command = `archi3d cost settle ${one.job_id} --run-id ${one.run_id} --usd `;
              return <li key={one.job_id}><b class="money">{usd(micros(one.usd))}</b> <To to={{ screen: "job", run: one.run_id, job: one.job_id }}><code>{one.job_id}</code></To> <span class="why">{one.state}{one.request_id && `, request ${one.request_id}`}</span> <Copy text={command} what="the command that settles it" /></li>;
            })}
          </ul>
        </section>
      )}
      {value?.warnings.map((line) => <p key={line} class="bad">{line}</p>)}
    </>
  );
}

/** What one model came to; with attempts of unknown price, the least it may have. */
function each({ completed, billed_usd, unknown_cost_attempts }: Tally): string {
  const spent = micros(billed_usd) ?? 0;
  if (completed === 0) return "–";
  if (unknown_cost_attempts === 0) return about(spent / completed);
  return spent > 0 ? `at least ${about(spent / completed)}` : "unknown";
}

/** Days from the newest, everything else from the dearest. */
function sorted(report: Report | null, by: Group) {
  const lines = (report?.lines ?? []).map((line) => ({ ...line, name: String(line[by] ?? "") }));
  return by === "day" ? lines.sort((a, b) => b.name.localeCompare(a.name)) : lines.sort((a, b) => b.billed_usd - a.billed_usd || a.name.localeCompare(b.name));
}
