-- What workers had when they fell silent, also where others have taken it since; what one gave back itself says why.  $1 workers
SELECT a.worker_id, r.run_id, s.job_id FROM archi3d.attempts a JOIN archi3d.job_specs s ON s.job_no = a.job_no
JOIN archi3d.runs r ON r.run_no = s.run_no
WHERE a.worker_id = ANY ($1) AND (a.status = 'running' OR a.status = 'lost' AND a.error IS NULL) ORDER BY a.job_no
