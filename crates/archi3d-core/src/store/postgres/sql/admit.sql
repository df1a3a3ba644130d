-- A slot and a place in the minute, or when to ask again. The provider's row is locked by the statement before.
-- $1 provider  $2 slots or null  $3 seconds between starts or null  $4 worker  $5 lease seconds
-- A slot is taken as long as the lease of its holder would not be judged (sweep.sql): its job may run though nobody could beat.
WITH gate AS (
  SELECT provider, next_start, closed_at, closed_until, closed_reason FROM archi3d.providers WHERE provider = $1
), open AS (
  SELECT 1 FROM gate WHERE (closed_at IS NULL OR closed_until <= now()) AND ($3::float8 IS NULL OR next_start <= now())
), held AS (
  SELECT p.slot, p.expires_at FROM archi3d.provider_slots p LEFT JOIN archi3d.workers w USING (worker_id)
  WHERE p.provider = $1 AND (p.expires_at > now()
    OR now() <= GREATEST(pg_postmaster_start_time(), (SELECT since FROM archi3d.serving)) + make_interval(secs => GREATEST($5::float8, w.lease_seconds))
    OR EXISTS (SELECT FROM archi3d.workers me WHERE me.worker_id = $4 AND me.last_seen < now() - make_interval(secs => me.lease_seconds / 2)))
), free AS (
  SELECT s AS slot FROM generate_series(1, COALESCE($2::int, 1)) s, open
  WHERE $2::int IS NULL OR NOT EXISTS (SELECT FROM held WHERE held.slot = s)
  ORDER BY s LIMIT 1
), paced AS (
  UPDATE archi3d.providers p SET next_start = GREATEST(p.next_start, now() - interval '250 ms') + make_interval(secs => $3::float8)
  FROM free WHERE p.provider = $1 AND $3::float8 IS NOT NULL
), taken AS (
  INSERT INTO archi3d.provider_slots AS p (provider, slot, worker_id, expires_at)
  SELECT $1, slot, $4, now() + make_interval(secs => $5::float8) FROM free WHERE $2::int IS NOT NULL
  ON CONFLICT (provider, slot) DO UPDATE SET worker_id = EXCLUDED.worker_id, expires_at = EXCLUDED.expires_at WHERE p.expires_at <= now()
  RETURNING slot
)
SELECT EXISTS (SELECT FROM free), (SELECT slot FROM taken),
       CASE WHEN closed_at IS NOT NULL AND (closed_until IS NULL OR closed_until > now()) THEN closed_reason END,
       extract(epoch FROM closed_until - now())::float8, extract(epoch FROM next_start - now())::float8,
       (SELECT extract(epoch FROM min(expires_at) - now())::float8 FROM held WHERE expires_at > now())
FROM gate
