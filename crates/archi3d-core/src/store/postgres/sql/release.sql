-- Given back unfinished: costs no attempt, unless the holder could not be told from a dead one. Whoever had died before
-- with it may still have bought something: giving it back tells nothing of that.
-- $1 jobs  $2 attempt ids  $3 numbers  $4 why  $5 pause seconds  $6 as if the holder had died  $7 redo waits
WITH mine AS (
  SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::int[]) AS mine(id, attempt_id, number)
), was AS (
  SELECT j.id, mine.number, j.entry, j.cancel_asked, EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = j.id) AS has_result
  FROM archi3d.jobs j JOIN mine ON j.id = mine.id AND j.current_attempt_id = mine.attempt_id
  ORDER BY j.id FOR NO KEY UPDATE OF j
), back AS (
  UPDATE archi3d.jobs j SET
    status = CASE WHEN was.entry = 'redo' AND was.has_result AND (was.cancel_asked OR NOT $7) THEN 'succeeded'
                  WHEN was.cancel_asked THEN 'cancelled' ELSE 'pending' END::archi3d.job_status,
    entry = CASE WHEN was.entry = 'perform' OR was.entry = 'redo' AND $7 AND NOT was.cancel_asked THEN was.entry ELSE 'fresh' END,
    run_after = now() + make_interval(secs => $5::float8),
    excused = j.excused + (NOT $6)::int, lost = j.lost + $6::int, holder_died = j.holder_died OR $6,
    cancel_asked = false, lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, progress = NULL, doing = NULL
  FROM was WHERE j.id = was.id RETURNING j.id, j.status
), ended AS (
  UPDATE archi3d.attempts a SET status = 'released', error = $4, ended_at = now()
  FROM was WHERE a.job_no = was.id AND a.number = was.number
)
SELECT id, status::text FROM back
