-- One job that its caller saw as `entry` describes; no row: somebody else has it, or it is not that any more. What a sweep
-- took from a dead holder can still be taken over, and a redo or performance that was put off goes on as one.
-- $1 job  $2 entry  $3 worker  $4 lease seconds  $5 rehearsal  $6 jobs that it has itself
WITH pick AS (
  SELECT j.id, j.status, j.attempt_count, j.lease_owner, j.lease_expires_at FROM archi3d.jobs j
  JOIN archi3d.runs r ON r.run_no = j.run_no LEFT JOIN archi3d.workers w ON w.worker_id = j.lease_owner
  WHERE j.id = $1 AND j.id <> ALL ($6::bigint[]) AND NOT ($5 AND j.tried) AND CASE $2::text
    WHEN 'fresh'    THEN j.status IN ('pending','failed_retryable') AND j.run_after <= now()
    WHEN 'retry'    THEN j.status = 'failed_terminal'
    WHEN 'redo'     THEN j.status = 'succeeded' OR j.status IN ('pending','failed_retryable') AND j.entry = 'redo' AND j.run_after <= now()
    WHEN 'perform'  THEN j.status = 'succeeded' AND j.simulated OR j.status IN ('pending','failed_retryable') AND j.entry = 'perform' AND j.run_after <= now()
    WHEN 'takeover' THEN j.status IN ('pending','failed_retryable') AND j.holder_died AND j.run_after <= now()
      OR j.status = 'running' AND j.lease_expires_at <= now() AND NOT j.cancel_asked
         AND now() > GREATEST(pg_postmaster_start_time(), (SELECT since FROM archi3d.serving))
                     + make_interval(secs => GREATEST($4::float8, w.lease_seconds, CASE WHEN w.worker_id IS NOT NULL AND w.run_no IS NULL THEN r.lease_seconds END))
         AND NOT EXISTS (SELECT FROM archi3d.workers me WHERE me.worker_id = $3 AND (me.last_seen < now() - make_interval(secs => me.lease_seconds / 2)
           OR j.lease_expires_at > now() - make_interval(secs => (me.lease_seconds - w.lease_seconds) / 2)))
    ELSE false END
  FOR NO KEY UPDATE OF j SKIP LOCKED
), lost AS (
  UPDATE archi3d.attempts a SET status = 'lost', ended_at = now()
  FROM pick p WHERE p.status = 'running' AND a.job_no = p.id AND a.number = p.attempt_count AND a.status = 'running'
), boundary AS (
  INSERT INTO archi3d.checkpoints (job_no, number, kind, worker_id, detail)
  SELECT p.id, p.attempt_count, 'lease_expired', p.lease_owner, jsonb_build_object('expired_at', p.lease_expires_at, 'taken_by', $3::text)
  FROM pick p WHERE p.status = 'running'
), taken AS (
  UPDATE archi3d.jobs j SET
    status = 'running', lease_owner = $3, lease_expires_at = now() + make_interval(secs => $4::float8),
    current_attempt_id = gen_random_uuid(), attempt_count = j.attempt_count + 1,
    started_at = COALESCE(j.started_at, now()), holder_died = (j.status = 'running') OR j.holder_died,
    lost = j.lost + (j.status = 'running')::int,
    entry = CASE WHEN $2::text IN ('retry','redo','perform') THEN $2::text::archi3d.job_entry ELSE j.entry END,
    resubmit = j.resubmit AND $2::text <> 'retry', cancel_asked = false, tried = j.tried OR NOT $5, progress = NULL, doing = NULL
  FROM pick WHERE j.id = pick.id
  RETURNING j.id, j.algo, j.attempt_count, j.current_attempt_id, j.claim_key,
            CASE WHEN j.holder_died AND j.entry NOT IN ('redo','perform') AND $2::text <> 'retry' THEN 'takeover' ELSE j.entry END AS entry,
            j.holder_died, j.request_id, j.intent, j.intent_at, j.failures, j.lost, j.purchases, j.resubmit
), begun AS (
  INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, rehearsal, resumed, started_at)
  SELECT id, attempt_count, current_attempt_id, $3, entry, $5, request_id, now() FROM taken
)
SELECT t.id, s.job_id, s.product_id, s.variant, t.algo, s.payload::text, t.attempt_count, t.current_attempt_id, t.claim_key,
       t.entry::text, t.holder_died, t.request_id, t.intent, t.intent_at, t.failures, t.lost, t.purchases, now(), t.resubmit
FROM taken t JOIN archi3d.job_specs s ON s.job_no = t.id
