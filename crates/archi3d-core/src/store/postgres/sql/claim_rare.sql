-- The same with the two rare ways in: due retries and expired leases. Used when a claim comes up short, at a worker's
-- start and every few seconds, because looking at every running row need not be paid a thousand times a second.
-- $1 run  $2 algos  $3 most of each  $4 only jobs with an open purchase or with money of their own  $5 most in all
-- $6 worker  $7 lease seconds  $8 rehearsal  $9 jobs that it has itself
-- No lease is judged within one lease (the judge's and the holder's) of the server's start or of a fail-over: a live
-- holder could not have beaten meanwhile.
WITH lane AS (
  SELECT * FROM unnest($2::text[], $3::int[], $4::bool[]) AS lane(algo, most, bought_only)
), due AS (
  SELECT c.id, c.claim_key FROM lane CROSS JOIN LATERAL (
    SELECT id, claim_key FROM archi3d.jobs
    WHERE run_no = $1 AND status = 'failed_retryable' AND run_after <= now() AND algo = lane.algo
      AND id <> ALL ($9::bigint[]) AND NOT ($8 AND tried) AND (NOT lane.bought_only OR request_id IS NOT NULL
        OR EXISTS (SELECT 1 FROM archi3d.reservations r WHERE r.job_no = jobs.id))
    ORDER BY run_after LIMIT lane.most FOR NO KEY UPDATE SKIP LOCKED) c
), dead AS (
  SELECT c.* FROM lane CROSS JOIN LATERAL (
    SELECT j.id, j.claim_key, j.attempt_count, j.lease_owner, j.lease_expires_at FROM archi3d.jobs j
    JOIN archi3d.runs r ON r.run_no = j.run_no LEFT JOIN archi3d.workers w ON w.worker_id = j.lease_owner
    WHERE j.run_no = $1 AND j.status = 'running' AND j.lease_expires_at <= now() AND j.algo = lane.algo
      AND j.attempt_count - j.excused < j.max_attempts AND NOT j.cancel_asked AND j.id <> ALL ($9::bigint[])
      AND NOT ($8 AND j.tried) AND (NOT lane.bought_only OR j.request_id IS NOT NULL
        OR EXISTS (SELECT 1 FROM archi3d.reservations r WHERE r.job_no = j.id))
      AND now() > GREATEST(pg_postmaster_start_time(), (SELECT since FROM archi3d.serving))
                  + make_interval(secs => GREATEST($7::float8, w.lease_seconds, CASE WHEN w.worker_id IS NOT NULL AND w.run_no IS NULL THEN r.lease_seconds END))
      AND NOT EXISTS (SELECT FROM archi3d.workers me WHERE me.worker_id = $6 AND (me.last_seen < now() - make_interval(secs => me.lease_seconds / 2)
        OR j.lease_expires_at > now() - make_interval(secs => (me.lease_seconds - w.lease_seconds) / 2)))
    ORDER BY j.id LIMIT lane.most FOR NO KEY UPDATE OF j SKIP LOCKED) c
), pick AS (
  SELECT id FROM (SELECT id, claim_key FROM due UNION ALL SELECT id, claim_key FROM dead) every
  ORDER BY claim_key LIMIT $5
), lost AS (
  UPDATE archi3d.attempts a SET status = 'lost', ended_at = now()
  FROM dead d JOIN pick USING (id) WHERE a.job_no = d.id AND a.number = d.attempt_count AND a.status = 'running'
), boundary AS (
  INSERT INTO archi3d.checkpoints (job_no, number, kind, worker_id, detail)
  SELECT d.id, d.attempt_count, 'lease_expired', d.lease_owner, jsonb_build_object('expired_at', d.lease_expires_at, 'taken_by', $6::text)
  FROM dead d JOIN pick USING (id)
), taken AS (
  UPDATE archi3d.jobs j SET
    status = 'running', lease_owner = $6, lease_expires_at = now() + make_interval(secs => $7::float8),
    current_attempt_id = gen_random_uuid(), attempt_count = j.attempt_count + 1,
    started_at = COALESCE(j.started_at, now()), holder_died = (j.status = 'running') OR j.holder_died,
    lost = j.lost + (j.status = 'running')::int,
    cancel_asked = false, tried = j.tried OR NOT $8, progress = NULL, doing = NULL
  FROM pick WHERE j.id = pick.id
  RETURNING j.id, j.algo, j.attempt_count, j.current_attempt_id, j.claim_key,
            CASE WHEN j.holder_died AND j.entry NOT IN ('redo','perform') THEN 'takeover' ELSE j.entry END AS entry,
            j.holder_died, j.request_id, j.intent, j.intent_at, j.failures, j.lost, j.purchases, j.resubmit
), begun AS (
  INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, rehearsal, resumed, started_at)
  SELECT id, attempt_count, current_attempt_id, $6, entry, $8, request_id, now() FROM taken
)
SELECT t.id, s.job_id, s.product_id, s.variant, t.algo, s.payload::text, t.attempt_count, t.current_attempt_id, t.claim_key,
       t.entry::text, t.holder_died, t.request_id, t.intent, t.intent_at, t.failures, t.lost, t.purchases, now(), t.resubmit
FROM taken t JOIN archi3d.job_specs s ON s.job_no = t.id ORDER BY t.claim_key
