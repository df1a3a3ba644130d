-- $1 key  $2 what the request asked for  $3 run  $4 status  $5 answer  $6 for how many seconds it is remembered
INSERT INTO archi3d.idempotency_keys (key, request_hash, run_no, status, response, expires_at)
VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
ON CONFLICT (key) DO UPDATE SET request_hash = EXCLUDED.request_hash, run_no = EXCLUDED.run_no, status = EXCLUDED.status,
  response = EXCLUDED.response, created_at = clock_timestamp(), expires_at = EXCLUDED.expires_at
RETURNING key
