-- Every lease of a worker, its slots at providers and itself, in one statement. A lease that does not come back is lost.
-- $1 jobs  $2 attempt ids  $3 progress  $4 what they do  $5 lease seconds  $6 worker
-- It waits for no disk: a server that lost its last beats came back just now (serving.sql), and no lease is judged then.
-- If this worker was not seen for half its lease, and nobody else whose leases are no longer, the server stood still or was cut
-- off from all: whoever beats first afterwards notes it, and no lease is judged before one lease from now (sweep.sql). Who
-- comes in or judges without being a worker notes it too (standstill.sql), so that nobody who is seen hides it.
-- `status = 'running'` is left out on purpose: lease_only_when_running implies it, and naming it would let the planner
-- walk the partial index of all running jobs once per lease when its statistics say there are none.
WITH renewed AS (
  UPDATE archi3d.jobs j SET lease_expires_at = now() + make_interval(secs => $5::float8),
    progress = COALESCE(mine.progress, j.progress), doing = COALESCE(mine.doing, j.doing)
  FROM unnest($1::bigint[], $2::uuid[], $3::real[], $4::text[]) AS mine(id, attempt_id, progress, doing)
  WHERE j.id = mine.id AND j.current_attempt_id = mine.attempt_id
  RETURNING j.id, j.current_attempt_id, j.cancel_asked
), stood_still AS (
  UPDATE archi3d.serving SET since = now()
  WHERE (SELECT me.last_seen < now() - make_interval(secs => me.lease_seconds / 2) FROM archi3d.workers me WHERE me.worker_id = $6)
    AND NOT EXISTS (SELECT FROM archi3d.workers other, archi3d.workers me WHERE me.worker_id = $6 AND other.worker_id <> $6
                    AND other.state <> 'ended' AND other.lease_seconds <= me.lease_seconds
                    AND other.last_seen >= now() - make_interval(secs => me.lease_seconds / 2))
), seen AS (
  UPDATE archi3d.workers SET last_seen = now()
  WHERE worker_id = $6 AND set_config('synchronous_commit', 'off', true) IS NOT NULL
), slots AS (
  UPDATE archi3d.provider_slots SET expires_at = now() + make_interval(secs => $5::float8) WHERE worker_id = $6
)
SELECT id, current_attempt_id, cancel_asked FROM renewed
