SELECT provider, closed_at, closed_until, COALESCE(closed_reason, ''), extract(epoch FROM closed_until - now())::float8
FROM archi3d.providers WHERE closed_at IS NOT NULL AND (closed_until IS NULL OR closed_until > now()) ORDER BY provider
