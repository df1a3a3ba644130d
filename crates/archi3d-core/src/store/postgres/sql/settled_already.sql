-- After a lost connection: what became of my attempts?  $1 jobs  $2 attempt ids  $3 numbers
SELECT a.job_no, a.number, a.status::text FROM archi3d.attempts a
JOIN unnest($1::bigint[], $2::uuid[], $3::int[]) AS t(id, attempt_id, number)
  ON a.job_no = t.id AND a.number = t.number AND a.attempt_id = t.attempt_id
