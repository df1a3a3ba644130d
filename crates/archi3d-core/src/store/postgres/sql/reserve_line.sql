-- The reservation of a job moves to this attempt; it remembers that it was taken over.
-- $1 job  $2 number  $3 attempt id  $4 run scope  $5 day scope  $6 micros  $7 raised
WITH held AS (
  INSERT INTO archi3d.reservations AS r (job_no, number, attempt_id, run_scope, day_scope, micros) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (job_no) DO UPDATE SET taken_over = r.taken_over OR r.attempt_id <> EXCLUDED.attempt_id, number = EXCLUDED.number,
    attempt_id = EXCLUDED.attempt_id, day_scope = EXCLUDED.day_scope, micros = EXCLUDED.micros, at = clock_timestamp()
)
INSERT INTO archi3d.ledger (job_no, number, attempt_id, change, micros, raised) VALUES ($1, $2, $3, 'reserved', $6, $7) RETURNING id
