-- The runs that the same parameters led to and that may be given back, the latest first, each with the workspace in which it was
-- asked for.  $1 their hash
SELECT r.run_no, r.run_id, o.body::text, r.parameters->>'workspace_id' FROM archi3d.runs r JOIN archi3d.orders o ON o.run_no = r.run_no AND o.retry IS NULL
WHERE r.payload_hash = $1 AND o.body->>'dedupes' = 'true' ORDER BY o.id DESC
