-- Expired leases of every run (or of some jobs) go back to waiting; whoever was asked to stop is out; a job that has
-- taken too many workers with it fails for good, in doubt, because its last attempt may have bought something.
-- $1 most  $2 lease seconds  $3 only these jobs, or null  $4 the worker that sweeps, or null  $5 what it runs itself
-- $6 processes that are dead for certain in run $7: what they ended and made there was told just now, and no lease of theirs is
-- waited for. In other runs they may live, or nobody has told yet. What may be on its way to a provider keeps its lease: whoever
-- looks for it too soon does not find it, and buys it again.
-- No lease is judged within one lease (ours, the holder's, and that of the run where the holder serves every run) of the
-- server's start, a fail-over or a standstill (beat.sql, standstill.sql), nor by a worker whose own beats are late: then either may
-- have stood still. Whose own leases are longer would not have noticed a shorter standstill: it leaves the holder as much longer.
WITH dead AS (
  SELECT j.id, j.attempt_count, j.entry, j.lease_owner, j.lease_expires_at, j.cancel_asked,
         j.attempt_count - j.excused >= j.max_attempts AS worn_out,
         j.entry = 'redo' AND EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = j.id) AS has_older
  FROM archi3d.jobs j JOIN archi3d.runs r ON r.run_no = j.run_no LEFT JOIN archi3d.workers w ON w.worker_id = j.lease_owner
  WHERE j.status = 'running' AND ($3::bigint[] IS NULL OR j.id = ANY ($3)) AND j.id <> ALL ($5::bigint[])
    AND (j.run_no = $7 AND w.facts->>'process' = ANY ($6::text[]) AND j.intent IS NULL
      OR j.lease_expires_at <= now() AND now() > GREATEST(pg_postmaster_start_time(), (SELECT since FROM archi3d.serving))
                + make_interval(secs => GREATEST($2::float8, w.lease_seconds, CASE WHEN w.worker_id IS NOT NULL AND w.run_no IS NULL THEN r.lease_seconds END))
    AND NOT EXISTS (SELECT FROM archi3d.workers me WHERE me.worker_id = $4 AND (me.last_seen < now() - make_interval(secs => me.lease_seconds / 2)
      OR j.lease_expires_at > now() - make_interval(secs => (me.lease_seconds - w.lease_seconds) / 2))))
  ORDER BY j.run_no, j.id LIMIT $1 FOR NO KEY UPDATE OF j SKIP LOCKED
), moved AS (
  UPDATE archi3d.jobs j SET
    status = CASE WHEN (d.cancel_asked OR d.worn_out) AND d.has_older THEN 'succeeded' WHEN d.cancel_asked THEN 'cancelled'
                  WHEN d.worn_out THEN 'failed_terminal' ELSE 'pending' END::archi3d.job_status,
    entry = CASE WHEN (d.cancel_asked OR d.worn_out) AND d.has_older THEN 'fresh' ELSE d.entry END,
    completed_at = CASE WHEN d.has_older THEN j.completed_at WHEN d.worn_out AND NOT d.cancel_asked THEN now() END,
    last_error = format('worker %s has been silent since %s', d.lease_owner, to_char(LEAST(d.lease_expires_at, now()) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')),
    last_class = CASE WHEN d.worn_out THEN 'unknown' ELSE j.last_class END,
    lost = j.lost + 1, holder_died = true, cancel_asked = false,
    lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, progress = NULL, doing = NULL
  FROM dead d WHERE j.id = d.id RETURNING j.id, j.status
), lost AS (
  UPDATE archi3d.attempts a SET status = 'lost', ended_at = now() FROM dead d
  WHERE a.job_no = d.id AND a.number = d.attempt_count AND a.status = 'running'
), boundary AS (
  INSERT INTO archi3d.checkpoints (job_no, number, kind, worker_id, detail)
  SELECT d.id, d.attempt_count, 'lease_expired', d.lease_owner, jsonb_build_object('expired_at', d.lease_expires_at) FROM dead d
)
SELECT status::text, count(*) FROM moved GROUP BY 1
