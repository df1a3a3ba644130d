-- Who makes these inputs now? A row whose attempt is over is taken over; no row: somebody else makes them.
-- $1 content key  $2 job  $3 attempt id
INSERT INTO archi3d.making AS m (content_key, job_no, attempt_id) VALUES ($1, $2, $3)
ON CONFLICT (content_key) DO UPDATE SET job_no = EXCLUDED.job_no, attempt_id = EXCLUDED.attempt_id
WHERE m.attempt_id = EXCLUDED.attempt_id
   OR NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.id = m.job_no AND j.current_attempt_id = m.attempt_id)
RETURNING true
