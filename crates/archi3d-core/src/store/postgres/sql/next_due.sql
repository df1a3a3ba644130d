-- Seconds to the next retry of these algorithms; one that is due already and was not taken comes no sooner for being asked for.
-- $1 run  $2 algos
SELECT extract(epoch FROM min(run_after) - now())::float8 FROM archi3d.jobs
WHERE run_no = $1 AND status = 'failed_retryable' AND run_after > now() AND algo = ANY ($2)
