-- Put back, or the request to stop taken back.  $1 run  $2 only these jobs, or null
WITH chosen AS (
  SELECT unnest($2::bigint[]) AS id UNION ALL SELECT job_no FROM archi3d.job_specs WHERE $2 IS NULL AND run_no = $1
), was AS (
  SELECT j.id, j.status, j.cancel_asked, j.attempt_count, j.simulated FROM chosen JOIN archi3d.jobs j ON j.id = chosen.id
  WHERE j.run_no = $1 AND ($2 IS NOT NULL OR j.status = 'cancelled' OR j.status = 'running' AND j.cancel_asked)
  ORDER BY j.id FOR NO KEY UPDATE OF j
), changed AS (
  UPDATE archi3d.jobs j SET status = CASE WHEN was.status = 'cancelled' THEN 'pending' ELSE j.status END, cancel_asked = false
  FROM was WHERE j.id = was.id AND (was.status = 'cancelled' OR was.cancel_asked)
), reopened AS (
  UPDATE archi3d.runs SET closed_at = NULL WHERE run_no = $1 AND closed_at IS NOT NULL AND EXISTS (SELECT FROM was WHERE status = 'cancelled')
)
SELECT was.id, was.status::text, CASE WHEN was.status = 'cancelled' THEN 'waiting' WHEN was.cancel_asked THEN 'request_withdrawn'
         WHEN was.status IN ('pending','failed_retryable','running') THEN 'not_cancelled' ELSE 'untouched' END,
       was.attempt_count, was.simulated
FROM was
