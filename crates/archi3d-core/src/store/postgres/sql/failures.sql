-- What failed for good, in the order of the manifest, with how long the last attempt took.  $1 run
SELECT s.job_id, s.product_id, s.variant, j.algo, COALESCE(j.last_error, ''), a.ended_at, a.seconds, COALESCE(a.rehearsal, false)
FROM archi3d.jobs j JOIN archi3d.job_specs s ON s.job_no = j.id
LEFT JOIN archi3d.attempts a ON a.job_no = j.id AND a.number = j.attempt_count
WHERE j.run_no = $1 AND j.status = 'failed_terminal' ORDER BY s.position
