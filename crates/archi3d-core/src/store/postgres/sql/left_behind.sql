-- Made, and its files could not be put: they lie on their worker's disk. What cost nothing, or can be fetched by its request
-- id, waits for anybody; the rest is in doubt, so that nobody buys it again unasked. The attempt counts as lost, not as
-- failed: the next start on that disk brings its result, which is adopted.
-- $1 job  $2 attempt id  $3 number  $4 line  $5 whether it cost nothing
WITH was AS (
  SELECT j.id, j.entry, j.cancel_asked,
    CASE WHEN j.entry = 'redo' AND EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = j.id) THEN 'succeeded'
         WHEN j.cancel_asked THEN 'cancelled'
         WHEN $5 OR j.request_id IS NOT NULL THEN 'pending' ELSE 'failed_terminal' END AS next
  FROM archi3d.jobs j WHERE j.id = $1 AND j.current_attempt_id = $2 FOR NO KEY UPDATE
), back AS (
  UPDATE archi3d.jobs j SET status = was.next::archi3d.job_status,
    completed_at = CASE WHEN was.next = 'failed_terminal' THEN now() ELSE j.completed_at END,
    entry = CASE WHEN was.entry = 'perform' AND was.next = 'pending' THEN was.entry ELSE 'fresh' END,
    last_error = $4, last_class = CASE WHEN was.next = 'failed_terminal' THEN 'unknown'::archi3d.error_class END,
    excused = j.excused + 1, cancel_asked = false,
    lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, progress = NULL, doing = NULL
  FROM was WHERE j.id = was.id RETURNING j.id
), ended AS (
  UPDATE archi3d.attempts a SET status = 'lost', error = $4, ended_at = now() FROM back WHERE a.job_no = back.id AND a.number = $3
)
SELECT id FROM back
