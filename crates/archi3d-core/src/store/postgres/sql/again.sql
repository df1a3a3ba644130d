-- Failed jobs wait again because a person says so, each if it failed in the attempt named.
-- $1 run  $2 jobs  $3 the attempts in which they failed, -1 for any  $4 what may have been billed is bought again
WITH back AS (
  UPDATE archi3d.jobs j SET status = 'pending', entry = 'retry', resubmit = $4, holder_died = j.holder_died AND NOT $4, run_after = 'epoch', cancel_asked = false,
    max_attempts = GREATEST(j.max_attempts, j.attempt_count - j.excused + 1)
  FROM unnest($2::bigint[], $3::int[]) AS wanted(id, attempt)
  WHERE j.id = wanted.id AND j.run_no = $1 AND j.status = 'failed_terminal' AND wanted.attempt IN (-1, j.attempt_count)
    AND ($4 OR j.request_id IS NOT NULL OR j.intent IS NOT NULL OR j.last_class IS DISTINCT FROM 'unknown')
  RETURNING j.id
), reopened AS (
  UPDATE archi3d.runs SET closed_at = NULL WHERE run_no = $1 AND closed_at IS NOT NULL AND EXISTS (SELECT FROM back)
)
SELECT count(*) FROM back
