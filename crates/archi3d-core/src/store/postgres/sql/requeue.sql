-- An act of a person, once: failed jobs again (retry), results again (redo), rehearsed jobs in earnest (perform).
-- $1 run  $2 only these jobs, or null  $3 entry  $4 also what may have been billed without a name
UPDATE archi3d.jobs SET status = 'pending', entry = $3::text::archi3d.job_entry, run_after = 'epoch', cancel_asked = false,
  max_attempts = GREATEST(max_attempts, attempt_count - excused + 1)
WHERE run_no = $1 AND ($2::bigint[] IS NULL OR id = ANY ($2))
  AND status = CASE WHEN $3::text = 'retry' THEN 'failed_terminal' ELSE 'succeeded' END::archi3d.job_status
  AND simulated = ($3::text = 'perform')
  AND ($3::text <> 'retry' OR $4 OR request_id IS NOT NULL OR (last_class IS DISTINCT FROM 'unknown' AND intent IS NULL))
RETURNING id
