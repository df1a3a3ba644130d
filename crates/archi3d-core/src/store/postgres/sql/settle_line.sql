-- Once per attempt, whoever tells it again; no row: it was settled before.
-- $1 job  $2 number  $3 attempt id  $4 settled or written_off  $5 micros  $6 by hand  $7 raised
INSERT INTO archi3d.ledger (job_no, number, attempt_id, change, micros, by_hand, raised) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (job_no, attempt_id) WHERE change <> 'reserved' DO NOTHING RETURNING id
