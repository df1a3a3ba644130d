-- Jobs of a run that was closed (everything exported) so many days ago, at most $2 at a time; specs and results go with
-- them. Money stays in the ledger. A job stays that waits, runs, ended after the export, has files that were kept aside after it, or
-- has an open purchase, a doubt or a reservation.
WITH old AS (
  SELECT s.job_no FROM archi3d.runs r JOIN archi3d.job_specs s ON s.run_no = r.run_no JOIN archi3d.jobs j ON j.id = s.job_no
  WHERE r.closed_at < now() - make_interval(days => $1) AND j.status IN ('succeeded','failed_terminal','cancelled')
    AND COALESCE(j.completed_at, r.closed_at) <= r.closed_at AND j.request_id IS NULL AND j.intent IS NULL
    AND NOT (j.status = 'failed_terminal' AND j.last_class IS NOT DISTINCT FROM 'unknown')
    AND NOT EXISTS (SELECT FROM archi3d.attempts a WHERE a.job_no = j.id AND a.kept_at IS NOT NULL AND a.ended_at > r.closed_at)
    AND NOT EXISTS (SELECT FROM archi3d.reservations v WHERE v.job_no = j.id)
    AND NOT EXISTS (SELECT FROM archi3d.purchases p WHERE p.job_no = j.id AND p.state = 'open')
  LIMIT $2
), a AS (DELETE FROM archi3d.artifacts USING old WHERE artifacts.job_no = old.job_no),
   t AS (DELETE FROM archi3d.attempts USING old WHERE attempts.job_no = old.job_no),
   p AS (DELETE FROM archi3d.results_replaced USING old WHERE results_replaced.job_no = old.job_no),
   c AS (DELETE FROM archi3d.checkpoints USING old WHERE checkpoints.job_no = old.job_no),
   b AS (DELETE FROM archi3d.purchases USING old WHERE purchases.job_no = old.job_no)
DELETE FROM archi3d.jobs USING old WHERE jobs.id = old.job_no RETURNING jobs.id
