-- Everything of one run that was made to try the store, and its workers; nothing of it is left.  $1 run. A run with money in the
-- ledger was no trial and stays.
WITH old AS (
  SELECT s.job_no FROM archi3d.job_specs s WHERE s.run_no = $1
    AND NOT EXISTS (SELECT FROM archi3d.job_specs o JOIN archi3d.ledger l ON l.job_no = o.job_no WHERE o.run_no = $1 AND l.micros <> 0)
), l AS (DELETE FROM archi3d.ledger USING old WHERE ledger.job_no = old.job_no),
   v AS (DELETE FROM archi3d.reservations USING old WHERE reservations.job_no = old.job_no),
   m AS (DELETE FROM archi3d.making USING old WHERE making.job_no = old.job_no),
   a AS (DELETE FROM archi3d.artifacts USING old WHERE artifacts.job_no = old.job_no),
   t AS (DELETE FROM archi3d.attempts USING old WHERE attempts.job_no = old.job_no),
   p AS (DELETE FROM archi3d.results_replaced USING old WHERE results_replaced.job_no = old.job_no),
   c AS (DELETE FROM archi3d.checkpoints USING old WHERE checkpoints.job_no = old.job_no),
   b AS (DELETE FROM archi3d.purchases USING old WHERE purchases.job_no = old.job_no),
   u AS (DELETE FROM archi3d.budgets WHERE scope = 'run:' || $1::text),
   w AS (DELETE FROM archi3d.workers WHERE run_no = $1),
   j AS (DELETE FROM archi3d.jobs USING old WHERE jobs.id = old.job_no)
DELETE FROM archi3d.runs r WHERE r.run_no = $1
  AND (EXISTS (SELECT FROM old) OR NOT EXISTS (SELECT FROM archi3d.job_specs s WHERE s.run_no = $1)) RETURNING r.run_id
