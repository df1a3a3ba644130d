-- $1 worker  $2 host  $3 pid  $4 version  $5 run or null  $6 slots  $7 lease seconds  $8 facts
-- $9 seconds that connecting took: as long as half a lease, and the server stood still meanwhile (beat.sql)
-- It was last seen when it began to ask: a server that stands still before it answers is noticed by the first beat.
WITH stood_still AS (
  UPDATE archi3d.serving SET since = clock_timestamp() WHERE $9::float8 > $7 / 2
)
INSERT INTO archi3d.workers AS w (worker_id, host, pid, version, run_no, slots, state, lease_seconds, facts, last_seen)
VALUES ($1, $2, $3, $4, $5, $6, 'starting', $7, $8::text::jsonb, now())
ON CONFLICT (worker_id) DO UPDATE SET host = EXCLUDED.host, pid = EXCLUDED.pid, version = EXCLUDED.version, run_no = EXCLUDED.run_no,
  slots = EXCLUDED.slots, state = 'starting', lease_seconds = EXCLUDED.lease_seconds, facts = EXCLUDED.facts,
  started_at = clock_timestamp(), last_seen = now()
-- A name that somebody alive bears is refused: fences go by attempt, but people go by name. Where the spools are the same the
-- caller holds the lock of the name; containers of one host name may have spools of their own.
WHERE w.state = 'ended' OR w.last_seen < now() - make_interval(secs => w.lease_seconds)
   OR w.host = EXCLUDED.host AND COALESCE(w.facts->>'spools', EXCLUDED.facts->>'spools') IS NOT DISTINCT FROM EXCLUDED.facts->>'spools'
RETURNING worker_id
