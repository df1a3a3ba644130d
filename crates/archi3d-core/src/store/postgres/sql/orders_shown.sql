-- Runs that a service shows: those that were asked for, and those whose files lie in a bucket, so that anybody can read them; or the
-- one.  $1 run id or null
SELECT r.run_no, r.run_id, r.job_count FROM archi3d.runs r
WHERE ($1::text IS NULL OR r.run_id = $1)
  AND (r.artifacts_url IS NOT NULL OR EXISTS (SELECT FROM archi3d.orders o WHERE o.run_no = r.run_no AND o.retry IS NULL))
  AND EXISTS (SELECT FROM archi3d.job_specs s WHERE s.run_no = r.run_no) ORDER BY r.run_no
