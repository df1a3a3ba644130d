-- The run that the same parameters lead to.  $1 their hash
SELECT r.run_no, r.run_id, o.body::text FROM archi3d.runs r JOIN archi3d.orders o ON o.run_no = r.run_no AND o.retry IS NULL
WHERE r.payload_hash = $1 AND r.dedupes
