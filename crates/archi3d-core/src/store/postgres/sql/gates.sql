-- What nobody starts: providers that are closed, and algorithms that pause.
SELECT false, provider, closed_at, closed_until, COALESCE(closed_reason, ''), extract(epoch FROM closed_until - now())::float8, 0
FROM archi3d.providers WHERE closed_at IS NOT NULL AND (closed_until IS NULL OR closed_until > now())
UNION ALL
SELECT true, algo, paused_at, NULL, COALESCE(reason, ''), extract(epoch FROM now() - paused_at)::float8, failures_in_a_row FROM archi3d.breakers WHERE paused_at IS NOT NULL
ORDER BY 1, 2
