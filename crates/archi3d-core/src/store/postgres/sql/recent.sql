-- What ended lately with a result of its own, newest first; a copy tells nothing of how long making takes.  $1 run  $2 most
SELECT s.job_id, j.algo, r.created_at, r.seconds, r.simulated FROM archi3d.results r
JOIN archi3d.jobs j ON j.id = r.job_no JOIN archi3d.job_specs s ON s.job_no = r.job_no
LEFT JOIN archi3d.attempts a ON a.job_no = r.job_no AND a.number = r.number
WHERE r.run_no = $1 AND a.price_source IS DISTINCT FROM 'reused' ORDER BY r.created_at DESC LIMIT $2
