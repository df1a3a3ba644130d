-- The provider accepted: durable before anybody waits. The attempt and the list of purchases keep the id even if the
-- lease is lost; the job takes it unless a newer attempt has begun.
-- $1 job  $2 attempt id  $3 number  $4 request id  $5 cost
WITH noted AS (
  UPDATE archi3d.attempts SET request_id = $4, cost_micros = COALESCE($5, cost_micros), submitted_at = now()
  WHERE job_no = $1 AND number = $3 AND attempt_id = $2 RETURNING 1
), kept AS (
  INSERT INTO archi3d.purchases AS p (job_no, request_id, number, attempt_id, correlation, cost_micros)
  SELECT $1, $4, $3, $2, j.intent, $5 FROM archi3d.jobs j, noted WHERE j.id = $1
  ON CONFLICT (job_no, request_id) DO UPDATE SET cost_micros = COALESCE(EXCLUDED.cost_micros, p.cost_micros)
)
UPDATE archi3d.jobs SET request_id = $4, intent = NULL, intent_at = NULL
WHERE id = $1 AND attempt_count = $3 AND status NOT IN ('succeeded') AND EXISTS (SELECT FROM noted)
  -- Told again from a spool after it was over, it stays over.
  AND NOT EXISTS (SELECT FROM archi3d.purchases p WHERE p.job_no = $1 AND p.request_id = $4 AND p.state <> 'open')
RETURNING COALESCE(current_attempt_id = $2, false)
