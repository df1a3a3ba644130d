-- Results that came too late: kept on record, the job is somebody else's.
-- $1 jobs  $2 attempt ids  $3 numbers  $4 where the files lie
UPDATE archi3d.attempts a SET status = 'fenced', ended_at = now(), kept_at = t.kept_at
FROM unnest($1::bigint[], $2::uuid[], $3::int[], $4::text[]) AS t(id, attempt_id, number, kept_at)
WHERE a.job_no = t.id AND a.number = t.number AND a.attempt_id = t.attempt_id AND a.status IN ('running','lost')
RETURNING a.job_no
