-- The holder stops because a person asked. A redo leaves the older result.
-- $1 job  $2 attempt id  $3 number ; not_asked: the request was taken back, the holder goes on
WITH was AS (
  SELECT id, entry, cancel_asked, EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = jobs.id) AS has_result
  FROM archi3d.jobs WHERE id = $1 AND current_attempt_id = $2 FOR NO KEY UPDATE
), gone AS (
  UPDATE archi3d.jobs j SET
    status = CASE WHEN was.entry = 'redo' AND was.has_result THEN 'succeeded' ELSE 'cancelled' END::archi3d.job_status,
    entry = CASE WHEN was.entry = 'redo' AND was.has_result THEN 'fresh' ELSE was.entry END,
    cancel_asked = false, lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, progress = NULL, doing = NULL
  FROM was WHERE j.id = was.id AND was.cancel_asked RETURNING j.status
), ended AS (
  UPDATE archi3d.attempts SET status = CASE WHEN EXISTS (SELECT FROM was) THEN 'cancelled' ELSE 'fenced' END::archi3d.attempt_status, ended_at = now()
  WHERE job_no = $1 AND number = $3 AND attempt_id = $2 AND status IN ('running','lost')
    AND NOT EXISTS (SELECT FROM was WHERE NOT cancel_asked)
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM was) THEN 'fenced' WHEN NOT EXISTS (SELECT FROM gone) THEN 'not_asked'
            WHEN EXISTS (SELECT FROM gone WHERE status = 'succeeded') THEN 'redo_stopped' ELSE 'cancelled' END
