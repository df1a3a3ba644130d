-- The end without a result. A redo that failed leaves the older result in force, and its row as it is; a performance that
-- failed ends the rehearsal before it.
-- $1 job  $2 attempt id  $3 number  $4 class  $5 line  $6 cost  $7 cut off  $8 purchase: open, not_made, void
-- $9 row patch  $10 seconds
WITH was AS (
  SELECT id, entry, request_id, EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = jobs.id) AS has_result
  FROM archi3d.jobs WHERE id = $1 AND current_attempt_id = $2 FOR NO KEY UPDATE
), ended AS (
  UPDATE archi3d.jobs j SET
    status = CASE WHEN was.entry = 'redo' AND was.has_result THEN 'succeeded' ELSE 'failed_terminal' END::archi3d.job_status,
    simulated = j.simulated AND was.entry = 'redo' AND was.has_result,
    entry = 'fresh', completed_at = COALESCE(CASE WHEN was.entry = 'redo' AND was.has_result THEN j.completed_at END, now()),
    -- Of several purchases the one before is asked about next.
    request_id = CASE WHEN $8::text = 'void' THEN (SELECT p.request_id FROM archi3d.purchases p WHERE p.job_no = was.id AND p.state = 'open'
      AND p.request_id <> was.request_id ORDER BY p.at DESC LIMIT 1) ELSE j.request_id END,
    intent = CASE WHEN $8::text = 'open' THEN j.intent END, intent_at = CASE WHEN $8::text = 'open' THEN j.intent_at END,
    purchases = j.purchases + ($8::text = 'void')::int,
    last_error = $5, last_class = $4::text::archi3d.error_class, failures = 0, holder_died = false, cancel_asked = false,
    lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, progress = NULL, doing = NULL
  FROM was WHERE j.id = was.id RETURNING j.id, j.status
), voided AS (
  UPDATE archi3d.purchases p SET state = 'void' FROM was
  WHERE $8::text = 'void' AND p.job_no = was.id AND p.request_id = was.request_id AND p.state = 'open'
), over AS (
  INSERT INTO archi3d.results_replaced SELECT r.*, now() FROM was JOIN archi3d.results r ON r.job_no = was.id WHERE was.entry = 'perform'
), gone AS (
  DELETE FROM archi3d.results r USING was WHERE r.job_no = was.id AND was.entry = 'perform'
)
UPDATE archi3d.attempts SET status = CASE WHEN EXISTS (SELECT FROM ended) THEN 'failed' ELSE 'fenced' END::archi3d.attempt_status,
  class = $4::text::archi3d.error_class, error = $5, cost_micros = COALESCE($6, cost_micros), cut_off = $7, void = ($8::text = 'void'),
  patch = CASE WHEN EXISTS (SELECT FROM ended WHERE ended.status = 'failed_terminal') THEN $9::text::json END, seconds = $10, ended_at = now()
WHERE job_no = $1 AND number = $3 AND attempt_id = $2 AND status IN ('running','lost')
RETURNING status::text, (SELECT ended.status::text FROM ended)
