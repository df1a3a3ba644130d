// Where the figures come from.

import { count } from "./format";
import { data, jobs } from "./state";

export function About() {
  const { archi3d, made_at, runs, left_out, votes, accepts, against } = data.value;
  return (
    <section class="prose">
      <dl>
        <dt>Made</dt><dd>{new Date(made_at).toLocaleString()} by archi3d {archi3d}</dd>
        <dt>Runs</dt><dd>{runs.map((run) => run.run_id).join(", ")}{against && ` (compared with ${against})`}</dd>
        <dt>Shown here</dt><dd>{count(jobs.value.length, "job")}</dd>
        <dt>Judged</dt><dd>{count(accepts.length, "verdict")}, {count(votes, "vote")}</dd>
      </dl>
      {left_out.length > 0 && (
        <>
          <h2>Left out</h2>
          <ul>{left_out.map((one) => <li key={one.reason}>{count(one.jobs, "job")}: {one.reason}</li>)}</ul>
        </>
      )}
      <h2>How the figures are made</h2>
      <ul>
        <li>Spent: what <code>archi3d cost report</code> says, failures and retries included. Rehearsals never count.</li>
        <li>Price per accepted model: money spent on the algorithm, divided by the models that would be accepted if those not judged are like those that were.</li>
        <li>Intervals: Wilson, 95 %. Differences: paired by item, Wilcoxon signed-rank, two-sided.</li>
        <li>F-score: share of the surface within 1 % of the real model's diagonal, after the pose was fitted; the overlay shows the pose.</li>
        <li>Pictures of models: the same eight cameras and light for every maker, drawn by archi3d.</li>
      </ul>
      <p class="hint">Nothing on this page was loaded from a network. Licences of what it is built with: LICENSES.txt beside this file.</p>
    </section>
  );
}
