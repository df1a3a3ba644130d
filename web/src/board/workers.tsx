// Who works, and what they work with.

import { api, micros } from "../api";
import type { Algo } from "../api";
import { count, usd } from "../format";
import { useLive } from "./live";
import { Chip, To, Trouble, When, ago, may, question } from "./parts";

export function Workers() {
  const workers = useLive("workers", api.workers);
  const algos = useLive("algos", api.algos);
  const alive = workers.value?.filter((one) => one.state === "alive").length ?? 0;
  const held = workers.value?.reduce((sum, one) => sum + one.holds.length, 0) ?? 0;
  return (
    <>
      <section aria-labelledby="workers">
        <h2 id="workers" class="first">Workers</h2>
        <Trouble problem={workers.problem} />
        {workers.value && <p class="sub" role="status">{count(alive, "worker")} alive, {count(held, "job")} held.</p>}
        {workers.value?.length === 0 && <p class="hint">No worker is running. <code>archi3d run worker RUN</code> starts one; <code>archi3d serve --workers 2</code> keeps two.</p>}
        {(workers.value?.length ?? 0) > 0 && (
          <div class="scroll" tabIndex={0} role="region" aria-label="Workers">
            <table class="figures">
              <thead><tr><th scope="col">Worker</th><th scope="col">State</th><th scope="col">Run</th><th scope="col">Holds</th><th scope="col">Last seen</th><th scope="col">Since</th><th scope="col">Version</th></tr></thead>
              <tbody>
                {workers.value!.map((one) => (
                  <tr key={one.worker_id} data-worker={one.worker_id} data-state={one.state}>
                    <th scope="row"><bdi>{one.worker_id}</bdi><br /><small><bdi>{one.host}</bdi></small></th>
                    <td><Chip status={one.state} /></td>
                    <td>{one.run_id ? <To to={{ screen: "run", run: one.run_id }}><bdi>{one.run_id}</bdi></To> : "all"}</td>
                    <td class="holds">{one.holds.length === 0 ? "nothing" : one.holds.slice(0, 8).map((job) => (
                      <span key={`${job.run_id} ${job.job_id}`}><To to={{ screen: "job", run: job.run_id, job: job.job_id }}><bdi>{job.item}</bdi></To> <small><bdi>{job.algo}</bdi>, {ago(job.age_s)}{job.attempt > 1 && `, attempt ${job.attempt}`}</small></span>
                    ))}{one.holds.length > 8 && <small>and {one.holds.length - 8} more</small>}</td>
                    <td>{ago(one.heartbeat_age_s)}</td>
                    <td><When at={one.since} /></td>
                    <td><small>{one.version}</small></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      <section aria-labelledby="providers">
        <h2 id="providers">Providers and algorithms</h2>
        <Trouble problem={algos.problem} />
        <Algos list={sorted(algos.value ?? []).filter((one) => one.runnable || one.closed || one.paused)} again={algos.again} />
        {(algos.value ?? []).some((one) => !one.runnable) && (
          <details class="others">
            <summary>{algos.value!.filter((one) => !one.runnable && !one.closed && !one.paused).length} more that cannot run here</summary>
            <Algos list={sorted(algos.value!).filter((one) => !one.runnable && !one.closed && !one.paused)} again={algos.again} />
          </details>
        )}
      </section>
    </>
  );
}

/** By the account they use; what is shut comes first. */
function sorted(algos: Algo[]): Algo[] {
  const rank = (one: Algo) => (one.closed || one.paused ? 0 : 1);
  return [...algos].sort((a, b) => rank(a) - rank(b) || (a.provider ?? "").localeCompare(b.provider ?? "") || a.algo.localeCompare(b.algo));
}

function Algos({ list, again }: { list: Algo[]; again: () => void }) {
  if (list.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Algorithms">
      <table class="figures">
        <thead><tr><th scope="col">Algorithm</th><th scope="col">Provider</th><th scope="col" class="number">Price</th><th scope="col">Pictures</th><th scope="col">How it stands</th></tr></thead>
        <tbody>
          {list.map((one) => {
            const shut = one.closed ?? one.paused;
            return (
              <tr key={one.algo}>
                <th scope="row"><bdi>{one.algo}</bdi></th>
                <td>{one.provider === null || one.provider === one.algo ? "–" : <bdi>{one.provider}</bdi>}</td>
                <td class="number">{one.unit_price_usd === null ? "unknown" : one.unit_price_usd === 0 ? "free" : usd(micros(one.unit_price_usd))}</td>
                <td>{one.image_mode === "multi" ? "several" : "one"}</td>
                <td class="sentence">
                  {shut ? <span class="line"><span><strong class="bad">{one.closed ? "closed" : "paused"}{shut.until && ` until ${new Date(shut.until).toLocaleTimeString()}`}</strong> {shut.reason}</span>{may("admin") && <button onClick={() => resume(one, again)}>Resume…</button>}</span>
                    : one.runnable ? <span class="good">ready</span> : <span class="faint">{one.problems.join("; ")}</span>}
                  {one.deprecated && <small> {one.deprecated}</small>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function resume(algo: Algo, again: () => void): void {
  const shut = algo.closed ?? algo.paused;
  question.value = {
    title: `Resume ${algo.algo}?`, button: "Resume",
    body: <><p>It stopped because: <i>{shut?.reason}</i></p><p>Jobs that wait for it start again with every worker{algo.unit_price_usd ? <>, at <b class="money">{usd(micros(algo.unit_price_usd))}</b> each</> : null}.</p></>,
    act: async () => {
      const { opened } = await api.resume(algo.algo);
      again();
      return opened ? `${algo.algo} resumed` : `${algo.algo} was open already`;
    },
  };
}
