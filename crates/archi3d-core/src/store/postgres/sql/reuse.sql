-- The newest real result made from the same inputs, but for those of some attempts.  $1 content key  $2 version or null
-- $3 attempts
SELECT run.run_id, s.job_id, r.job_no, r.number, a.attempt_id, r.algo_version, r.payload::text, j.result_ref
FROM archi3d.results r JOIN archi3d.job_specs s ON s.job_no = r.job_no JOIN archi3d.runs run ON run.run_no = s.run_no
JOIN archi3d.jobs j ON j.id = r.job_no JOIN archi3d.attempts a ON a.job_no = r.job_no AND a.number = r.number
WHERE r.content_key = $1 AND NOT r.simulated AND ($2::text IS NULL OR r.algo_version = $2)
  AND a.attempt_id <> ALL ($3) ORDER BY r.created_at DESC LIMIT 1
