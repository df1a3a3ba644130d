-- A failure that is not the end: the job waits, with or without a pause. A redo waits too if its caller says so; otherwise
-- the older result stands.
-- $1 job  $2 attempt id  $3 number  $4 class  $5 line  $6 pause seconds  $7 counts  $8 cut off
-- $9 purchase: open, not_made, void  $10 cost  $11 redo waits  $12 row patch
WITH was AS (
  SELECT id, entry, request_id, cancel_asked, EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = jobs.id) AS has_result
  FROM archi3d.jobs WHERE id = $1 AND current_attempt_id = $2 FOR NO KEY UPDATE
), back AS (
  UPDATE archi3d.jobs j SET
    status = CASE WHEN was.entry = 'redo' AND was.has_result AND (was.cancel_asked OR NOT $11) THEN 'succeeded'
                  WHEN was.cancel_asked THEN 'cancelled'
                  WHEN $6::float8 > 0 THEN 'failed_retryable' ELSE 'pending' END::archi3d.job_status,
    entry = CASE WHEN was.entry = 'perform' OR was.entry = 'redo' AND $11 AND NOT was.cancel_asked THEN was.entry ELSE 'fresh' END,
    run_after = now() + make_interval(secs => $6::float8), last_error = $5, last_class = $4::text::archi3d.error_class,
    -- Of several purchases the one before is asked about next.
    request_id = CASE WHEN $9::text = 'void' THEN (SELECT p.request_id FROM archi3d.purchases p WHERE p.job_no = was.id AND p.state = 'open'
      AND p.request_id <> was.request_id ORDER BY p.at DESC LIMIT 1) ELSE j.request_id END,
    intent = CASE WHEN $9::text = 'open' THEN j.intent END, intent_at = CASE WHEN $9::text = 'open' THEN j.intent_at END,
    purchases = j.purchases + ($9::text = 'void')::int,
    failures = j.failures + $7::bool::int, excused = j.excused + (NOT $7::bool)::int, holder_died = false, cancel_asked = false,
    lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, progress = NULL, doing = NULL
  FROM was WHERE j.id = was.id RETURNING j.status
), voided AS (
  UPDATE archi3d.purchases p SET state = 'void' FROM was
  WHERE $9::text = 'void' AND p.job_no = was.id AND p.request_id = was.request_id AND p.state = 'open'
)
UPDATE archi3d.attempts SET status = CASE WHEN EXISTS (SELECT FROM back) THEN 'put_off' ELSE 'fenced' END::archi3d.attempt_status,
  class = $4::text::archi3d.error_class, error = $5, cut_off = $8, void = ($9::text = 'void'), cost_micros = COALESCE($10, cost_micros),
  patch = CASE WHEN EXISTS (SELECT FROM back WHERE back.status <> 'succeeded') THEN $12::text::json END, ended_at = now()
WHERE job_no = $1 AND number = $3 AND attempt_id = $2 AND status IN ('running','lost')
RETURNING status::text, (SELECT back.status::text FROM back)
