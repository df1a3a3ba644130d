-- $1 run  $2 names a retry  $3 who  $4 what it is expected to cost  $5 what was asked for  $6 whether the same parameters lead to it
WITH same AS (UPDATE archi3d.runs SET dedupes = $6 WHERE run_no = $1 AND $2::uuid IS NULL)
INSERT INTO archi3d.orders (run_no, retry, ordered_by, expected_micros, body) VALUES ($1, $2, $3, $4, $5::text::json)
ON CONFLICT (retry) DO UPDATE SET retry = EXCLUDED.retry RETURNING id
