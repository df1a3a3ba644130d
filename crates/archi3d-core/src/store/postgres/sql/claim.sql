-- The hot way in: jobs that wait, by lane, in the order of priority and manifest.
-- $1 run  $2 algos  $3 most of each  $4 cursors  $5 most in all  $6 worker  $7 lease seconds  $8 rehearsal
-- $9 nothing of it costs anything  $10 jobs that it has itself
-- A cursor is the last claim_key this worker took: dead index entries before it are not walked again.
-- A claim of what costs nothing does not wait for the disk: a server that crashes may forget it, then the job waits again and
-- the attempt is fenced. Whatever is committed afterwards and does wait (an ending, a purchase) keeps it, too.
WITH pick AS (
  SELECT c.id FROM unnest($2::text[], $3::int[], $4::bigint[]) AS lane(algo, most, after) CROSS JOIN LATERAL (
    SELECT id, claim_key FROM archi3d.jobs
    WHERE run_no = $1 AND algo = lane.algo AND status = 'pending' AND claim_key > lane.after
      AND run_after <= now() AND NOT ($8 AND tried) AND id <> ALL ($10::bigint[])
    ORDER BY claim_key LIMIT lane.most
    FOR NO KEY UPDATE SKIP LOCKED) c
  ORDER BY c.claim_key LIMIT $5
), taken AS (
  UPDATE archi3d.jobs j SET
    status = 'running', lease_owner = $6, lease_expires_at = now() + make_interval(secs => $7::float8),
    current_attempt_id = gen_random_uuid(), attempt_count = j.attempt_count + 1,
    started_at = COALESCE(j.started_at, now()), cancel_asked = false, tried = j.tried OR NOT $8, progress = NULL, doing = NULL
  FROM pick WHERE j.id = pick.id
  RETURNING j.id, j.algo, j.attempt_count, j.current_attempt_id, j.claim_key,
            CASE WHEN j.holder_died AND j.entry NOT IN ('redo','perform') THEN 'takeover' ELSE j.entry END AS entry,
            j.holder_died, j.request_id, j.intent, j.intent_at, j.failures, j.lost, j.purchases, j.resubmit
), begun AS (
  INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, rehearsal, resumed, started_at)
  SELECT id, attempt_count, current_attempt_id, $6, entry, $8, request_id, now() FROM taken
), hurried AS MATERIALIZED (
  SELECT set_config('synchronous_commit', 'off', true) WHERE $9
)
SELECT t.id, s.job_id, s.product_id, s.variant, t.algo, s.payload::text, t.attempt_count, t.current_attempt_id, t.claim_key,
       t.entry::text, t.holder_died, t.request_id, t.intent, t.intent_at, t.failures, t.lost, t.purchases, now(), t.resubmit
FROM taken t JOIN archi3d.job_specs s ON s.job_no = t.id LEFT JOIN hurried ON true ORDER BY t.claim_key
