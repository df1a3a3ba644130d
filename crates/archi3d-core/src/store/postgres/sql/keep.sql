-- Files of an attempt that were kept aside, and where they belong in a workspace.
-- $1 job  $2 attempt id  $3 number  $4 where  $5 names  $6 sizes  $7 hashes
WITH a AS (
  UPDATE archi3d.attempts SET kept_at = $4 WHERE job_no = $1 AND number = $3 AND attempt_id = $2 RETURNING job_no, number
), f AS (
  INSERT INTO archi3d.artifacts (job_no, number, name, size, sha256)
  SELECT a.job_no, a.number, f.name, f.size, f.sha256
  FROM a, unnest($5::text[], $6::bigint[], $7::bytea[]) AS f(name, size, sha256) ON CONFLICT DO NOTHING
)
SELECT job_no FROM a
