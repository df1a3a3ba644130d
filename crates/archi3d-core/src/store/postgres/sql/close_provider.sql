-- $1 provider  $2 seconds or null (until a person opens it)  $3 reason
-- A time never replaces a closing that only a person ends, nor one that lasts longer.
INSERT INTO archi3d.providers AS p (provider, closed_at, closed_until, closed_reason)
VALUES ($1, now(), now() + make_interval(secs => $2::float8), $3)
ON CONFLICT (provider) DO UPDATE SET closed_at = EXCLUDED.closed_at, closed_until = EXCLUDED.closed_until, closed_reason = EXCLUDED.closed_reason
WHERE p.closed_at IS NULL OR p.closed_until IS NOT NULL AND (EXCLUDED.closed_until IS NULL OR EXCLUDED.closed_until > p.closed_until)
RETURNING provider
