-- Of one run, by its index.  $1 run  $2 day or null
SELECT r.job_no, r.number, r.attempt_id, s.job_id, run.run_id, COALESCE(a.worker_id, ''), r.micros, r.taken_over
FROM archi3d.reservations r JOIN archi3d.job_specs s ON s.job_no = r.job_no JOIN archi3d.runs run ON run.run_no = s.run_no
LEFT JOIN archi3d.attempts a ON a.job_no = r.job_no AND a.number = r.number
WHERE r.run_scope = 'run:' || $1::bigint AND ($2::text IS NULL OR r.day_scope = 'day:' || $2)
ORDER BY s.position
