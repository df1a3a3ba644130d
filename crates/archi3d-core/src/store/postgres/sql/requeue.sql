-- An act of a person, once: failed jobs again (retry), results again (redo), rehearsed jobs in earnest (perform).
-- $1 run  $2 only these jobs, or null  $3 entry  $4 also what may have been billed without a name
WITH chosen AS (
  SELECT unnest($2::bigint[]) AS id UNION ALL SELECT job_no FROM archi3d.job_specs WHERE $2 IS NULL AND run_no = $1
)
UPDATE archi3d.jobs j SET status = 'pending', entry = $3::text::archi3d.job_entry, run_after = 'epoch', cancel_asked = false,
  max_attempts = GREATEST(j.max_attempts, j.attempt_count - j.excused + 1)
FROM chosen WHERE j.id = chosen.id AND j.run_no = $1
  AND j.status = CASE WHEN $3::text = 'retry' THEN 'failed_terminal' ELSE 'succeeded' END::archi3d.job_status
  AND j.simulated = ($3::text = 'perform')
  AND ($3::text <> 'retry' OR $4 OR j.request_id IS NOT NULL OR (j.last_class IS DISTINCT FROM 'unknown' AND j.intent IS NULL))
RETURNING j.id
