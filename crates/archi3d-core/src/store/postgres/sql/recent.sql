-- What ended lately, newest first.  $1 run  $2 most
SELECT s.job_id, j.algo, r.created_at, r.seconds, r.simulated FROM archi3d.results r
JOIN archi3d.jobs j ON j.id = r.job_no JOIN archi3d.job_specs s ON s.job_no = r.job_no
WHERE r.run_no = $1 ORDER BY r.created_at DESC LIMIT $2
