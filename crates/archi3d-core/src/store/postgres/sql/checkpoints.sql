-- Error boundaries of a job, or of a run.  $1 run  $2 job or null  $3 most
SELECT c.id, s.job_id, c.number, c.kind, c.worker_id, c.detail::text, c.created_at FROM archi3d.checkpoints c
JOIN archi3d.job_specs s ON s.job_no = c.job_no
WHERE s.run_no = $1 AND ($2::bigint IS NULL OR c.job_no = $2) ORDER BY c.id DESC LIMIT $3
