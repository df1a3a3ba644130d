// What went wrong, grouped by cause.

import { itemKey, itemName } from "./data";
import { failureGroups } from "./figures";
import type { FailureGroup } from "./figures";
import { count, usd } from "./format";
import { JobId } from "./grid";
import { choose, data, go, jobs, link } from "./state";

const MOST = 100;

export function Failures() {
  const wanted = link.value.only.algo;
  const groups = failureGroups(jobs.value.filter((job) => wanted.length === 0 || wanted.includes(job.algo)));
  const failed = groups.reduce((sum, group) => sum + group.jobs.length, 0);
  return (
    <div class="prose wide">
      {wanted.length > 0 && <p>Only <bdi>{wanted.join(", ")}</bdi>. <button class="link" onClick={() => go(choose("algo", []))}>Show all</button></p>}
      {groups.length === 0 ? <p class="empty">Nothing failed.</p> : (
        <p class="sub">{count(failed, "job")} failed for {count(groups.length, "reason")}.</p>
      )}
      {groups.map((group) => <Group key={`${group.class} ${group.message}`} group={group} open={groups.length < 4} />)}
    </div>
  );
}

function Group({ group, open }: { group: FailureGroup; open: boolean }) {
  const spent = group.jobs.reduce((sum, job) => sum + (job.cost_micros ?? 0), 0);
  const makers = new Map<string, number>();
  for (const job of group.jobs) makers.set(job.algo, (makers.get(job.algo) ?? 0) + 1);
  return (
    <details class="group" open={open}>
      <summary>
        <b class="times">{group.jobs.length}×</b>
        <span class="message">{group.message}</span>
        <small><strong class="bad">{group.class}</strong> · {[...makers].map(([algo, times]) => `${algo} ${times}`).join(", ")}{spent > 0 ? ` · ${usd(spent)} billed` : " · nothing billed"}</small>
      </summary>
      <table class="figures">
        <thead><tr><th scope="col">Item</th><th scope="col">Algorithm</th><th scope="col">Billed</th><th scope="col">Job</th></tr></thead>
        <tbody>
          {group.jobs.slice(0, MOST).map((job) => {
            const item = data.value.items[job.item]!;
            return (
              <tr key={job.job_id}>
                <td><button class="link" onClick={() => go({ screen: "compare", item: itemKey(item) })}><bdi>{itemName(item)}</bdi></button></td>
                <td><bdi>{job.algo}</bdi></td>
                <td>{usd(job.cost_micros)}</td>
                <td><JobId job={job} />{job.error && job.error !== group.message && <div class="hint">{job.error}</div>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {group.jobs.length > MOST && <p class="hint">and {group.jobs.length - MOST} more</p>}
    </details>
  );
}
