-- How the first jobs of an algorithm do: under way, with a result of their own, failed in a way that speaks of the algorithm.
-- $1 run  $2 algo  $3 most that matter  $4 rehearsal  $5 the price source of copies
SELECT (SELECT count(*) FROM archi3d.jobs WHERE run_no = $1 AND status = 'running' AND algo = $2)
     + (SELECT count(*) FROM archi3d.jobs WHERE run_no = $1 AND status = 'failed_retryable' AND algo = $2),
  (SELECT count(*) FROM (
     SELECT FROM archi3d.results r JOIN archi3d.jobs j ON j.id = r.job_no
     JOIN archi3d.attempts a ON a.job_no = r.job_no AND a.number = r.number
     WHERE r.run_no = $1 AND j.algo = $2 AND r.simulated = $4 AND a.price_source IS DISTINCT FROM $5 LIMIT $3) made),
  (SELECT count(*) FROM (
     SELECT FROM archi3d.jobs WHERE run_no = $1 AND status = 'failed_terminal' AND algo = $2
       AND last_class NOT IN ('bad_input', 'out_of_credit') LIMIT $3) failed)
