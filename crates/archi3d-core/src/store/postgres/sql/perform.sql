-- What was only rehearsed waits to be performed.  $1 run  $2 algos
WITH waiting AS (
  UPDATE archi3d.jobs SET status = 'pending', entry = 'perform', run_after = 'epoch', cancel_asked = false,
    max_attempts = GREATEST(max_attempts, attempt_count - excused + 1)
  WHERE run_no = $1 AND algo = ANY ($2) AND status = 'succeeded' AND simulated RETURNING 1
), reopened AS (
  UPDATE archi3d.runs SET closed_at = NULL WHERE run_no = $1 AND closed_at IS NOT NULL AND EXISTS (SELECT FROM waiting)
)
SELECT count(*) FROM waiting
