// Where the figures come from.

import { count, usd } from "./format";
import { data, jobs } from "./state";

export function About() {
  const { archi3d, made_at, runs, left_out, rankings, accepts, against, costs, notes, items } = data.value;
  const votes = rankings.reduce((sum, one) => sum + one.votes + one.both_unusable, 0);
  const made = [...data.value.jobs.flatMap((job) => job.model ?? []), ...items.flatMap((item) => item.truth ?? [])].filter((model) => model.sha256);
  const models = [...new Map(made.map((model) => [model.sha256, model])).values()];
  const outside = models.filter((model) => !model.payload).length;
  const undrawn = models.filter((model) => !model.poster).length;
  const omitted = [
    ...left_out.map((one) => `${count(one.jobs, "job")}: ${one.reason}`),
    outside > 0 && `${count(outside, "model")} of ${models.length} only as pictures: choose the workspace folder in Compare to see them in 3D, or build with --models all`,
    undrawn > 0 && `${count(undrawn, "model")} without pictures of ours; their cells say why`,
    ...notes,
  ].filter((line) => line !== false);
  const spent = (run: string) => costs.filter((cost) => cost.run_id === run).reduce((sum, cost) => sum + cost.spent_micros, 0);
  return (
    <section class="prose">
      <dl>
        <dt>Made</dt><dd>{new Date(made_at).toLocaleString()} by archi3d {archi3d}</dd>
        {runs.map((run) => (
          <><dt key={run.run_id}>{run.run_id === against ? "Compared with" : "Run"}</dt>
            <dd><bdi>{run.run_id}</bdi>{run.created_at && `, from ${new Date(run.created_at).toLocaleString()}`}, {usd(spent(run.run_id))} spent</dd></>
        ))}
        <dt>Shown here</dt><dd>{count(jobs.value.length, "job")}</dd>
        <dt>Judged</dt><dd>{count(accepts.length, "verdict")}, {count(votes, "vote")}</dd>
      </dl>
      {omitted.length > 0 && (
        <>
          <h2>Left out</h2>
          <ul>{omitted.map((line) => <li key={line}><bdi>{line}</bdi></li>)}</ul>
        </>
      )}
      <h2>How the figures are made</h2>
      <dl class="long">
        <dt>Spent</dt><dd>What <code>archi3d cost report</code> says, failures and retries included. Rehearsals never count.</dd>
        <dt>Price per model</dt><dd>What was spent on the algorithm, divided by the models it made.</dd>
        <dt>Price per accepted model</dt><dd>What was spent on the algorithm, divided by the models that people would use as they are. Models without a verdict count like those with one; with several judges, the majority decides.</dd>
        <dt>Place by votes</dt><dd>Bradley-Terry by maximum likelihood over votes on pairs, ties half, textured and clay apart; intervals from 1,000 sets of votes drawn again by item and judge. Overlapping intervals are ties.</dd>
        <dt>Intervals</dt><dd>95 %, after Wilson.</dd>
        <dt>Differences</dt><dd>Between the same items, in pairs: Wilcoxon's signed-rank test, two-sided, corrected for the number of pairs after Holm.</dd>
        <dt>F-score</dt><dd>How much of the surface lies within 1 % of the real model's diagonal of it, after the model was turned, moved and scaled onto it. The overlay in Compare shows that pose. Ambiguous poses are not counted.</dd>
        <dt>Disagreement</dt><dd>First where some algorithms failed and others did not, then where scores differ, then where the number of triangles does.</dd>
        <dt>Pictures of models</dt><dd>Drawn by archi3d: the same eight cameras and light for every maker.</dd>
      </dl>
      <p class="hint">Nothing on this page was loaded from a network. Licences of what it is built with: LICENSES.txt beside this file.</p>
    </section>
  );
}
