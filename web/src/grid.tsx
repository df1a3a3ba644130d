// Every item beside every algorithm's model.

import { useEffect, useRef, useState } from "preact/hooks";

import { source } from "./context";
import type { Job } from "./data";
import { itemKey, itemName } from "./data";
import { Filters } from "./filters";
import { fixed, seconds, usd } from "./format";
import { Poster } from "./poster";
import { algos, go, link, shown } from "./state";
import type { Row } from "./state";

/** How many rows are added when the end comes into sight. */
const PAGE = 24;

export function Grid() {
  const [limit, setLimit] = useState(PAGE);
  const end = useRef<HTMLTableRowElement>(null);
  const all = shown.value;
  useEffect(() => setLimit(PAGE), [all]);
  useEffect(() => {
    if (!end.current) return undefined;
    const watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && setLimit((now) => now + PAGE), { rootMargin: "800px" });
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, [limit, all]);
  const columns = algos.value.filter((algo) => link.value.algos.length === 0 || link.value.algos.includes(algo));
  return (
    <>
      <Filters />
      {all.length === 0 ? <p class="empty">Nothing fits these filters.</p> : (
        <div class="scroll">
          <table class="results">
            <caption class="visually-hidden">Items and what each algorithm made of them</caption>
            <thead>
              <tr><th scope="col">Item</th>{columns.map((algo) => <th scope="col" key={algo}>{algo}</th>)}</tr>
            </thead>
            <tbody>
              {all.slice(0, limit).map((row) => <GridRow key={row.index} row={row} columns={columns} />)}
              {limit < all.length && <tr ref={end}><td colSpan={columns.length + 1} class="hint">{all.length - limit} more…</td></tr>}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function GridRow({ row, columns }: { row: Row; columns: string[] }) {
  const name = itemName(row.item);
  const first = row.item.pictures[0];
  return (
    <tr>
      <th scope="row">
        <button class="item" onClick={() => go({ screen: "compare", item: itemKey(row.item) })}>
          {first ? <img src={source().picture(first.sha256)} alt="" loading="lazy" width="120" height="120" /> : <span class="no-poster">no picture</span>}
          <span>{name}</span>
          <small>{row.item.product_id}{row.item.category && ` · ${row.item.category}`}</small>
        </button>
      </th>
      {columns.map((algo) => <td key={algo}><Cell job={row.jobs.get(algo)} name={name} /></td>)}
    </tr>
  );
}

export function Cell({ job, name }: { job: Job | undefined; name: string }) {
  if (!job) return <span class="faint">–</span>;
  return (
    <div class={`cell ${job.state}`}>
      {job.model ? <Poster model={job.model} alt={`${name} by ${job.algo}`} /> : <Reason job={job} />}
      <Numbers job={job} />
    </div>
  );
}

function Reason({ job }: { job: Job }) {
  if (job.state !== "failed") return <div class="no-poster">{job.state}</div>;
  return (
    <div class="no-poster failure">
      <strong>{job.error_class ?? "failed"}</strong>
      <span>{job.error ?? "no reason recorded"}</span>
    </div>
  );
}

function Numbers({ job }: { job: Job }) {
  const score = job.score;
  return (
    <p class="numbers">
      <span title="price">{usd(job.cost_micros)}</span>
      <span title="time">{seconds(job.seconds)}</span>
      {score && <span title="F-score">{score.status === "ok" ? `F ${fixed(score.fscore)}` : score.status}</span>}
      {job.attempts > 1 && <span title="attempts">{job.attempts} attempts</span>}
    </p>
  );
}
