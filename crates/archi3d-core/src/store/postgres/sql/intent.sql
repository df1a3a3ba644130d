-- About to buy: committed before anything is sent. No row: the lease is lost, and nothing may be bought. The lease is
-- renewed, so that nobody takes the job over while its provider answers.
-- $1 job  $2 attempt id  $3 number  $4 what the purchase can be found by  $5 lease seconds
WITH mine AS (
  SELECT id, cancel_asked FROM archi3d.jobs WHERE id = $1 AND current_attempt_id = $2 FOR NO KEY UPDATE
), noted AS (
  UPDATE archi3d.jobs j SET intent = $4, intent_at = now(),
    lease_expires_at = GREATEST(lease_expires_at, now() + make_interval(secs => $5::float8))
  FROM mine WHERE j.id = mine.id AND NOT mine.cancel_asked
), dated AS (
  UPDATE archi3d.attempts a SET intent_at = now() FROM mine
  WHERE a.job_no = $1 AND a.number = $3 AND a.attempt_id = $2 AND NOT mine.cancel_asked
)
SELECT cancel_asked FROM mine
