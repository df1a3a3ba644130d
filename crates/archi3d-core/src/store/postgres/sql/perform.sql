-- What was only rehearsed waits to be performed.  $1 run  $2 algos
WITH waiting AS (
  UPDATE archi3d.jobs SET status = 'pending', entry = 'perform', run_after = 'epoch', cancel_asked = false,
    max_attempts = GREATEST(max_attempts, attempt_count - excused + 1)
  WHERE run_no = $1 AND algo = ANY ($2) AND status = 'succeeded' AND simulated RETURNING 1
)
SELECT count(*) FROM waiting
