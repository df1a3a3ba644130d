-- Files of an attempt that were kept aside, and where they belong in a workspace. It ends with them, and its run is not pulled whole
-- any more: until the next pull nothing of it is pruned.
-- $1 job  $2 attempt id  $3 number  $4 where  $5 names  $6 sizes  $7 hashes
WITH a AS (
  UPDATE archi3d.attempts SET kept_at = $4, ended_at = CASE WHEN status = 'running' THEN ended_at ELSE now() END
  WHERE job_no = $1 AND number = $3 AND attempt_id = $2 RETURNING job_no, number
), f AS (
  INSERT INTO archi3d.artifacts (job_no, number, name, size, sha256)
  SELECT a.job_no, a.number, f.name, f.size, f.sha256
  FROM a, unnest($5::text[], $6::bigint[], $7::bytea[]) AS f(name, size, sha256) ON CONFLICT DO NOTHING
), r AS (
  UPDATE archi3d.runs SET closed_at = NULL FROM a JOIN archi3d.jobs j ON j.id = a.job_no WHERE runs.run_no = j.run_no AND closed_at IS NOT NULL
)
SELECT job_no FROM a
