// Every item beside every algorithm's model.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { source } from "./context";
import type { Job } from "./data";
import { itemKey, itemName } from "./data";
import { Filters } from "./filters";
import { fixed, seconds, usd } from "./format";
import { SourcePicture } from "./picture";
import { Poster } from "./poster";
import { algos, go, hue, jobKey, jobs, link, shown, verdicts } from "./state";
import type { Row } from "./state";

/** Rows above and below what can be seen that are kept ready. */
const SPARE = 3;

/** Which rows can be seen. All rows are equally high, so that only these need to exist. */
function useSeen(rows: number) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ from: 0, to: 6, height: 0 });
  const look = () => {
    const element = box.current;
    const row = element?.querySelector("tbody tr.row");
    if (!element || !row) return;
    const height = row.getBoundingClientRect().height;
    const from = Math.max(0, Math.floor(element.scrollTop / height) - SPARE);
    const to = Math.ceil((element.scrollTop + element.clientHeight) / height) + SPARE;
    setSeen((now) => (now.from === from && now.to === to && now.height === height ? now : { from, to, height }));
  };
  useLayoutEffect(look, [rows]);
  useEffect(() => {
    const watcher = new ResizeObserver(look);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return { box, seen, look };
}

export function Grid() {
  const all = shown.value;
  const { box, seen, look } = useSeen(all.length);
  const { algo } = link.value.only;
  const columns = algos.value.filter((one) => algo.length === 0 || algo.includes(one));
  useEffect(() => box.current?.scrollTo(0, 0), [link.value.sort, link.value.text, link.value.only]);
  const from = Math.min(seen.from, Math.max(0, all.length - 1));
  const rows = all.slice(from, seen.to);
  const space = (count: number) => count > 0 && seen.height > 0 && <tr class="space" aria-hidden="true" style={{ height: `${count * seen.height}px` }} />;
  return (
    <div class="browse">
      <Filters />
      {all.length === 0 ? <p class="empty">{jobs.value.length === 0 ? "This run has no jobs that were really carried out." : "Nothing fits these filters."}</p> : (
        <div class="results" ref={box} onScroll={look} tabIndex={0} role="region" aria-label="Results" style={{ "--columns": columns.length }}>
          <table aria-rowcount={all.length + 1}>
            <caption class="visually-hidden">Items and what each algorithm made of them</caption>
            <thead>
              <tr>
                <th scope="col">Item</th>
                {columns.map((one) => <th scope="col" key={one}><i class="dot" style={{ background: hue(one) }} /><bdi>{one}</bdi></th>)}
              </tr>
            </thead>
            <tbody>
              {space(from)}
              {rows.map((row, at) => <GridRow key={row.index} row={row} columns={columns} place={from + at + 2} />)}
              {space(all.length - from - rows.length)}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function GridRow({ row, columns, place }: { row: Row; columns: string[]; place: number }) {
  const name = itemName(row.item);
  const open = () => go({ screen: "compare", item: itemKey(row.item) });
  return (
    <tr class="row" aria-rowindex={place}>
      <th scope="row">
        <button class="item" onClick={open} title={name}>
          <SourcePicture picture={row.item.pictures[0]} alt="" />
          <bdi class="name">{name}</bdi>
          <small><bdi>{row.item.product_id}</bdi>{row.item.category && <> · <bdi>{row.item.category}</bdi></>}</small>
        </button>
      </th>
      {columns.map((algo) => <td key={algo}><Cell job={row.jobs.get(algo)} name={name} onOpen={open} /></td>)}
    </tr>
  );
}

export function Cell({ job, name, onOpen }: { job: Job | undefined; name: string; onOpen: () => void }) {
  if (!job) return <div class="poster none" aria-label="nothing here"><span class="note only">–</span></div>;
  return (
    <>
      {job.model ? <Poster model={job.model} alt={`${name} by ${job.algo}`} onOpen={onOpen} /> : <Reason job={job} />}
      <Numbers job={job} />
    </>
  );
}

export function Reason({ job }: { job: Job }) {
  const failed = job.state === "failed";
  return (
    <div class={failed ? "poster failure" : "poster none"}>
      <span class="note only" title={job.error ?? undefined}>
        {failed && <strong>{job.error_class ?? "failed"}</strong>}
        {failed ? job.error ?? "no reason recorded" : job.state === "completed" ? "its result is missing" : job.state}
      </span>
    </div>
  );
}

export function JobId({ job }: { job: Job }) {
  const more = source().more?.(job);
  return more ? <a href={more}><code>{job.job_id}</code></a> : <code>{job.job_id}</code>;
}

export function Numbers({ job }: { job: Job }) {
  const { score } = job;
  const verdict = verdicts.value.get(jobKey(job));
  return (
    <p class="numbers">
      <b title="what was billed for it">{usd(job.cost_micros)}</b>
      <span title="time">{seconds(job.seconds)}</span>
      {score && <span title="F-score against the real model">{score.status === "ok" ? `F ${fixed(score.fscore, 2)}` : `F ${score.status}`}</span>}
      {verdict !== undefined && <span class={verdict ? "good" : "bad"}>{verdict ? "accepted" : "rejected"}</span>}
      {job.attempts > 1 && <span>{job.attempts} attempts</span>}
    </p>
  );
}
