-- What attempts of jobs that begin again had made or left when their workers died, newest first: since one of them told its end.
-- $1 jobs  $2 the numbers of the attempts that begin
SELECT a.job_no, a.number, a.attempt_id, a.started_at, a.made::text, a.kept_at IS NOT NULL
FROM unnest($1::bigint[], $2::int[]) AS t(id, number) JOIN archi3d.attempts a ON a.job_no = t.id AND a.number < t.number
WHERE a.status IN ('lost','fenced') AND NOT a.rehearsal
  AND a.number > COALESCE((SELECT max(b.number) FROM archi3d.attempts b
    WHERE b.job_no = t.id AND b.number < t.number AND b.status IN ('succeeded','failed','put_off')), 0)
ORDER BY a.job_no, a.number DESC
