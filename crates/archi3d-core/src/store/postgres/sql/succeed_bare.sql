-- Many results without files at once, of jobs that are held and have no open purchase: the hot way out. Whoever does not come
-- back is looked at by succeed.sql. So is the whole batch where one has a result already (this insert fails then).
-- $1 jobs, rising  $2 attempt ids  $3 numbers  $4 row patches  $5 content hashes  $6 costs  $7 content keys  $8 versions
-- $9 rehearsals  $10 seconds  $11 where prices come from
WITH done AS (  -- carries everything along, so that nothing below joins the batch with itself
  UPDATE archi3d.jobs j SET status = 'succeeded', entry = 'fresh', completed_at = now(), result_ref = NULL, simulated = t.simulated,
    lease_owner = NULL, lease_expires_at = NULL, current_attempt_id = NULL, run_after = 'epoch',
    intent = NULL, intent_at = NULL, purchases = j.purchases + (NOT t.simulated)::int,
    failures = 0, lost = 0, holder_died = false, last_error = NULL, last_class = NULL, cancel_asked = false, progress = NULL, doing = NULL
  FROM unnest($1::bigint[], $2::uuid[], $3::int[], $4::text[], $5::bytea[], $6::bigint[], $7::bytea[], $8::text[], $9::bool[],
              $10::float8[], $11::text[])
    AS t(id, attempt_id, number, payload, content_hash, cost, content_key, version, simulated, seconds, price_source)
  WHERE j.id = t.id AND j.current_attempt_id = t.attempt_id AND j.request_id IS NULL
  RETURNING j.run_no, j.algo, t.*
), kept AS (
  INSERT INTO archi3d.results (job_no, run_no, number, payload, content_hash, content_key, algo_version, simulated, seconds, cost_micros)
  SELECT id, run_no, number, payload::json, content_hash, content_key, version, simulated, seconds, cost FROM done
), ended AS (
  UPDATE archi3d.attempts a SET status = 'succeeded', ended_at = now(), cost_micros = COALESCE(done.cost, a.cost_micros), seconds = done.seconds,
    price_source = done.price_source, made = NULL
  FROM done WHERE a.job_no = done.id AND a.number = done.number
), worked AS (  -- a result of its own ends an algorithm's failures in a row; a pause stays
  UPDATE archi3d.breakers b SET failures_in_a_row = 0
  WHERE b.failures_in_a_row > 0 AND b.algo IN (SELECT done.algo FROM done WHERE done.price_source IS DISTINCT FROM 'reused')
)
SELECT id FROM done
