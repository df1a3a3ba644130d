-- What a worker holds, as the server knows it: claims whose answer was lost are among these. What a dead one of the same
-- name left is not: it may have been begun; nor what another process has that took the name when we stood still.
-- $1 run  $2 worker  $3 process
SELECT j.id, j.attempt_count, j.current_attempt_id FROM archi3d.jobs j JOIN archi3d.workers w ON w.worker_id = j.lease_owner
JOIN archi3d.attempts a ON a.job_no = j.id AND a.number = j.attempt_count
WHERE j.run_no = $1 AND j.status = 'running' AND j.lease_owner = $2 AND a.started_at >= w.started_at
  AND COALESCE(w.facts->>'process', $3) = $3
