-- Jobs of lanes that may not buy: what was bought already, whose range is that of another index, and jobs for which a dead
-- holder had reserved: their money counts against the limit already.
-- $1 run  $2 algos  $3 most of each  $4 most in all  $5 worker  $6 lease seconds  $7 jobs that it has itself
WITH lane AS (
  SELECT * FROM unnest($2::text[], $3::int[]) AS lane(algo, most)
), bought AS (
  SELECT c.id, c.claim_key FROM lane CROSS JOIN LATERAL (
    SELECT id, claim_key FROM archi3d.jobs
    WHERE run_no = $1 AND algo = lane.algo AND status = 'pending' AND request_id IS NOT NULL AND run_after <= now()
      AND id <> ALL ($7::bigint[])
    ORDER BY claim_key LIMIT lane.most
    FOR NO KEY UPDATE SKIP LOCKED) c
), paid AS (
  SELECT c.id, c.claim_key FROM lane CROSS JOIN LATERAL (
    SELECT j.id, j.claim_key FROM archi3d.reservations r JOIN archi3d.jobs j ON j.id = r.job_no
    WHERE r.run_scope = 'run:' || $1::text AND j.run_no = $1 AND j.algo = lane.algo
      AND j.status = 'pending' AND j.request_id IS NULL AND j.run_after <= now() AND j.id <> ALL ($7::bigint[])
    ORDER BY j.claim_key LIMIT lane.most
    FOR NO KEY UPDATE OF j SKIP LOCKED) c
), pick AS (
  SELECT id FROM (SELECT id, claim_key FROM bought UNION ALL SELECT id, claim_key FROM paid) every
  ORDER BY claim_key LIMIT $4
), taken AS (
  UPDATE archi3d.jobs j SET
    status = 'running', lease_owner = $5, lease_expires_at = now() + make_interval(secs => $6::float8),
    current_attempt_id = gen_random_uuid(), attempt_count = j.attempt_count + 1,
    started_at = COALESCE(j.started_at, now()), cancel_asked = false, tried = true, progress = NULL, doing = NULL
  FROM pick WHERE j.id = pick.id
  RETURNING j.id, j.algo, j.attempt_count, j.current_attempt_id, j.claim_key,
            CASE WHEN j.holder_died AND j.entry NOT IN ('redo','perform') THEN 'takeover' ELSE j.entry END AS entry,
            j.holder_died, j.request_id, j.intent, j.intent_at, j.failures, j.lost, j.purchases, j.resubmit
), begun AS (
  INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, rehearsal, resumed, started_at)
  SELECT id, attempt_count, current_attempt_id, $5, entry, false, request_id, now() FROM taken
)
SELECT t.id, s.job_id, s.product_id, s.variant, t.algo, s.payload::text, t.attempt_count, t.current_attempt_id, t.claim_key,
       t.entry::text, t.holder_died, t.request_id, t.intent, t.intent_at, t.failures, t.lost, t.purchases, now(), t.resubmit
FROM taken t JOIN archi3d.job_specs s ON s.job_no = t.id ORDER BY t.claim_key
