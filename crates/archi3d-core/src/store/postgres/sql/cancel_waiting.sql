-- Taken out if nobody works on it; a holder is asked. Expired leases are swept first (in the same transaction).
-- A job that waits to be made again keeps its older result.
-- $1 run  $2 only these jobs, or null  $3 only these algos, or null
-- A claim or a release may commit while this waits for the row. The table's checks then see our changes on the row as it
-- was before, so both pictures must be whole: a running row's own status, and no lease on any other.
WITH chosen AS (  -- by number, or the whole run: one OR for both would read the table
  SELECT unnest($2::bigint[]) AS id UNION ALL SELECT job_no FROM archi3d.job_specs WHERE $2 IS NULL AND run_no = $1
), was AS (
  SELECT j.id, j.status, j.entry, j.request_id, j.attempt_count, j.simulated, j.entry = 'redo' AND EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = j.id) AS has_older
  FROM chosen JOIN archi3d.jobs j ON j.id = chosen.id
  WHERE j.run_no = $1 AND ($3::text[] IS NULL OR j.algo = ANY ($3))
    AND ($2 IS NOT NULL OR j.status IN ('pending','failed_retryable','running'))
  ORDER BY j.id FOR NO KEY UPDATE OF j
), changed AS (
  UPDATE archi3d.jobs j SET
    status = CASE WHEN was.status = 'running' THEN j.status WHEN was.has_older THEN 'succeeded' ELSE 'cancelled' END::archi3d.job_status,
    entry = CASE WHEN was.status <> 'running' AND was.has_older THEN 'fresh' ELSE was.entry END,
    cancel_asked = (was.status = 'running'), lease_owner = CASE WHEN was.status = 'running' THEN j.lease_owner END,
    lease_expires_at = CASE WHEN was.status = 'running' THEN j.lease_expires_at END,
    current_attempt_id = CASE WHEN was.status = 'running' THEN j.current_attempt_id END
  FROM was WHERE j.id = was.id AND was.status IN ('pending','failed_retryable','running')
)
SELECT was.id, was.status::text, CASE WHEN was.status IN ('pending','failed_retryable') AND was.has_older THEN 'redo_stopped'
         WHEN was.status IN ('pending','failed_retryable') THEN 'taken_out' WHEN was.status = 'running' THEN 'asked'
         WHEN was.status = 'cancelled' THEN 'already_out' ELSE 'untouched' END,
       was.request_id, was.attempt_count, was.simulated
FROM was
