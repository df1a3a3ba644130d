-- Put back, or the request to stop taken back.  $1 run  $2 only these jobs, or null
WITH was AS (
  SELECT id, status, cancel_asked FROM archi3d.jobs
  WHERE run_no = $1 AND ($2::bigint[] IS NULL OR id = ANY ($2)) AND ($2 IS NOT NULL OR status = 'cancelled' OR status = 'running' AND cancel_asked)
  ORDER BY id FOR NO KEY UPDATE
), changed AS (
  UPDATE archi3d.jobs j SET status = CASE WHEN was.status = 'cancelled' THEN 'pending' ELSE was.status END, cancel_asked = false
  FROM was WHERE j.id = was.id AND (was.status = 'cancelled' OR was.cancel_asked)
)
SELECT was.id, was.status::text, CASE WHEN was.status = 'cancelled' THEN 'waiting' WHEN was.cancel_asked THEN 'request_withdrawn'
         WHEN was.status IN ('pending','failed_retryable','running') THEN 'not_cancelled' ELSE 'untouched' END,
       j.attempt_count, j.simulated
FROM was JOIN archi3d.jobs j ON j.id = was.id
