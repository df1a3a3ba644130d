// What went wrong, grouped by cause.

import { itemKey, itemName } from "./data";
import { failureGroups } from "./figures";
import { count, usd } from "./format";
import { data, go, jobs, link } from "./state";

export function Failures() {
  const wanted = link.value.algos;
  const groups = failureGroups(jobs.value.filter((job) => wanted.length === 0 || wanted.includes(job.algo)));
  if (groups.length === 0) return <p class="empty">No failures.</p>;
  return (
    <>
      {wanted.length > 0 && <p>Only {wanted.join(", ")}. <button class="link" onClick={() => go({ algos: [] })}>Show all</button></p>}
      {groups.map((group) => {
        const spent = group.jobs.reduce((sum, job) => sum + (job.cost_micros ?? 0), 0);
        return (
          <details key={`${group.class} ${group.message}`} open={groups.length < 6}>
            <summary><strong>{group.class}</strong> · {count(group.jobs.length, "job")}{spent > 0 && ` · ${usd(spent)}`} · {group.message}</summary>
            <ul>
              {group.jobs.map((job) => {
                const item = data.value.items[job.item]!;
                return (
                  <li key={job.job_id}>
                    <button class="link" onClick={() => go({ screen: "compare", item: itemKey(item) })}>{itemName(item)}</button> by {job.algo} <code>{job.job_id}</code>
                    {job.error && job.error !== group.message && <>: {job.error}</>}
                  </li>
                );
              })}
            </ul>
          </details>
        );
      })}
    </>
  );
}
