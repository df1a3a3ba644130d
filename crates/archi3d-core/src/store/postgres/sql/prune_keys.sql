DELETE FROM archi3d.idempotency_keys WHERE expires_at < now() RETURNING key
