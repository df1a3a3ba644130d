-- $1 run id  $2 parameters  $3 their hash  $4 header  $5 lease seconds  $6 where artifacts are ; the row stays locked, so that two pushes take turns
INSERT INTO archi3d.runs AS r (run_id, parameters, payload_hash, header, lease_seconds, artifacts_url) VALUES ($1, $2::text::jsonb, $3, $4, $5, $6)
ON CONFLICT (run_id) DO UPDATE SET run_id = EXCLUDED.run_id RETURNING run_no, xmax = 0, header
