-- What was answered to a request with this key.  $1 key
SELECT request_hash, status, response FROM archi3d.idempotency_keys WHERE key = $1 AND expires_at > now() AND response IS NOT NULL
