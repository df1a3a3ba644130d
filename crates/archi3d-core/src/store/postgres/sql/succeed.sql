-- Many results at once. Whoever does not come back was fenced and is told apart by fenced.sql (rare).
-- $1 jobs  $2 attempt ids  $3 numbers  $4 row patches  $5 content hashes  $6 references  $7 costs  $8 content keys
-- $9 versions  $10 rehearsals  $11 seconds  $12 where prices come from
-- files: $13 jobs  $14 numbers  $15 names  $16 sizes  $17 hashes  $18 addresses
-- A late result is adopted if its attempt was lost and nobody has begun since. A rehearsal never replaces a real result.
WITH t AS (
  SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::int[], $4::text[], $5::bytea[], $6::text[], $7::bigint[], $8::bytea[], $9::text[],
                       $10::bool[], $11::float8[], $12::text[])
    AS t(id, attempt_id, number, payload, content_hash, ref, cost, content_key, version, simulated, seconds, price_source)
), was AS (
  SELECT t.*, j.status AS was_status, j.request_id FROM archi3d.jobs j JOIN t ON j.id = t.id
  WHERE (j.current_attempt_id = t.attempt_id
      OR j.status IN ('pending','failed_retryable','failed_terminal') AND j.attempt_count = t.number
         AND EXISTS (SELECT FROM archi3d.attempts a WHERE a.job_no = t.id AND a.number = t.number AND a.attempt_id = t.attempt_id AND a.status = 'lost'))
    AND NOT (t.simulated AND EXISTS (SELECT FROM archi3d.results r WHERE r.job_no = t.id AND NOT r.simulated))
  ORDER BY j.id FOR NO KEY UPDATE OF j
), done AS (  -- carries everything along, so that nothing below joins the batch with itself
  UPDATE archi3d.jobs j SET status = 'succeeded', entry = 'fresh', completed_at = now(), result_ref = was.ref, simulated = was.simulated,
    lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, run_after = 'epoch',
    request_id = NULL, intent = NULL, intent_at = NULL, purchases = j.purchases + (NOT was.simulated)::int,
    failures = 0, lost = 0, holder_died = false, last_error = NULL, last_class = NULL, cancel_asked = false, progress = NULL, doing = NULL
  FROM was WHERE j.id = was.id
  RETURNING j.run_no, j.algo, was.*
), replaced AS (
  INSERT INTO archi3d.results_replaced SELECT r.*, now() FROM done JOIN archi3d.results r ON r.job_no = done.id
), kept AS (
  INSERT INTO archi3d.results AS r (job_no, run_no, number, payload, content_hash, content_key, algo_version, simulated, seconds, cost_micros)
  SELECT id, run_no, number, payload::json, content_hash, content_key, version, simulated, seconds, cost FROM done
  ON CONFLICT (job_no) DO UPDATE SET number = EXCLUDED.number, payload = EXCLUDED.payload, content_hash = EXCLUDED.content_hash,
    content_key = EXCLUDED.content_key, algo_version = EXCLUDED.algo_version, simulated = EXCLUDED.simulated,
    seconds = EXCLUDED.seconds, cost_micros = EXCLUDED.cost_micros, created_at = clock_timestamp()
), ended AS (
  UPDATE archi3d.attempts a SET status = 'succeeded', ended_at = now(), cost_micros = COALESCE(done.cost, a.cost_micros), seconds = done.seconds,
    price_source = done.price_source, made = NULL
  FROM done WHERE a.job_no = done.id AND a.number = done.number
), brought AS (
  UPDATE archi3d.purchases p SET state = 'brought' FROM done
  WHERE p.job_no = done.id AND p.request_id = done.request_id AND p.state = 'open'
), worked AS (  -- a result of its own ends an algorithm's failures in a row; a pause stays
  UPDATE archi3d.breakers b SET failures_in_a_row = 0
  WHERE b.failures_in_a_row > 0 AND b.algo IN (SELECT done.algo FROM done WHERE done.price_source IS DISTINCT FROM 'reused')
), files AS (
  INSERT INTO archi3d.artifacts (job_no, number, name, size, sha256, url)
  SELECT f.job_no, f.number, f.name, f.size, f.sha256, f.url
  FROM unnest($13::bigint[], $14::int[], $15::text[], $16::bigint[], $17::bytea[], $18::text[]) AS f(job_no, number, name, size, sha256, url)
  JOIN done ON done.id = f.job_no
)
SELECT id, was_status <> 'running' FROM done
