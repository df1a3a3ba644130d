-- Runs that were asked for, or the one.  $1 run id or null
SELECT r.run_id, o.body::text FROM archi3d.orders o JOIN archi3d.runs r USING (run_no)
WHERE o.retry IS NULL AND ($1::text IS NULL OR r.run_id = $1) ORDER BY o.id
