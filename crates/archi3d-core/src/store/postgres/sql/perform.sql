-- Some of what was only rehearsed waits to be performed.  $1 run  $2 algo  $3 most
WITH part AS (
  SELECT id FROM archi3d.jobs WHERE run_no = $1 AND algo = $2 AND status = 'succeeded' AND simulated
  ORDER BY id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
), waiting AS (
  UPDATE archi3d.jobs j SET status = 'pending', entry = 'perform', run_after = 'epoch', cancel_asked = false,
    max_attempts = GREATEST(j.max_attempts, j.attempt_count - j.excused + 1)
  FROM part WHERE j.id = part.id RETURNING 1
)
SELECT count(*) FROM waiting
