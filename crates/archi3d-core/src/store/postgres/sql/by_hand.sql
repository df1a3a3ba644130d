-- What people said was billed for jobs of a run, in the order in which they said it.  $1 run
SELECT l.job_no, l.number, l.attempt_id, s.job_id, COALESCE(a.worker_id, ''), l.micros, l.at
FROM archi3d.ledger l JOIN archi3d.job_specs s ON s.job_no = l.job_no
LEFT JOIN archi3d.attempts a ON a.job_no = l.job_no AND a.number = l.number
WHERE l.by_hand AND s.run_no = $1 ORDER BY l.id
