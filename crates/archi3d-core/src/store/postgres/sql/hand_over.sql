-- Jobs of a run as they come from files, with all that is known of them; those that are there already stay as they are.
-- $1 run  $2 run id  $3 positions  $4 job ids  $5 algos  $6 products  $7 variants  $8 providers  $9 payloads  $10 hashes  $11 rows
-- $12 priority  $13 most attempts  $14 states  $15 entries  $16 attempts  $17 failures  $18 tried  $19 holders died  $20 rehearsals
-- $21 have a result  $22 request ids  $23 intents  $24 when  $25 purchases over  $26 not before  $27 errors  $28 classes  $29 attempt ids
-- Attempts that were made in files cost nothing here.
WITH new AS (
  SELECT t.*, $2 || '/' || t.job_id AS key
  FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bytea[],
              $14::text[], $15::text[], $16::int[], $17::int[], $18::bool[], $19::bool[], $20::bool[], $21::bool[], $22::text[], $23::text[],
              $24::timestamptz[], $25::int[], $26::timestamptz[], $27::text[], $28::text[], $29::uuid[])
    AS t(position, job_id, algo, product_id, variant, provider, payload, payload_hash, cells, status, entry, attempts, failures, tried,
         holder_died, simulated, has_result, request_id, intent, intent_at, purchases, not_before, error, class, attempt_id)
), added AS (
  INSERT INTO archi3d.jobs (run_no, algo, position, priority, max_attempts, status, entry, attempt_count, excused, failures, tried, holder_died,
    simulated, request_id, intent, intent_at, purchases, run_after, last_error, last_class, completed_at)
  SELECT $1, algo, position, $12, $13, status::archi3d.job_status, entry::archi3d.job_entry, attempts, attempts, failures, tried, holder_died,
    simulated, request_id, intent, intent_at, purchases, COALESCE(not_before, 'epoch'), error, class::archi3d.error_class,
    CASE WHEN status IN ('succeeded','failed_terminal') THEN now() END
  -- A subquery of its own is a look at the index for each job, whatever the planner thinks of the table's size.
  FROM new WHERE (SELECT s.job_no FROM archi3d.job_specs s WHERE s.idempotency_key = new.key) IS NULL
  ORDER BY position RETURNING id, position, algo, attempt_count
), specs AS (
  INSERT INTO archi3d.job_specs (job_no, run_no, position, job_id, idempotency_key, product_id, variant, provider, payload, payload_hash, cells)
  SELECT added.id, $1, new.position, new.job_id, new.key, new.product_id, new.variant, new.provider, new.payload::json, new.payload_hash, new.cells
  FROM added JOIN new USING (position)
), bought AS (
  INSERT INTO archi3d.purchases (job_no, request_id, number, attempt_id)
  SELECT added.id, new.request_id, added.attempt_count, COALESCE(new.attempt_id, gen_random_uuid())
  FROM added JOIN new USING (position) WHERE new.request_id IS NOT NULL
), made AS (  -- their rows say it already
  INSERT INTO archi3d.results (job_no, run_no, number, payload, content_hash, simulated)
  SELECT added.id, $1, added.attempt_count, '[]', '', new.simulated FROM added JOIN new USING (position) WHERE new.has_result
), counted AS (
  INSERT INTO archi3d.run_algos AS a (run_no, algo, first_position, jobs)
  SELECT $1, algo, min(position), count(*) FROM added GROUP BY algo
  ON CONFLICT (run_no, algo) DO UPDATE SET jobs = a.jobs + EXCLUDED.jobs, first_position = LEAST(a.first_position, EXCLUDED.first_position)
), total AS (  -- new jobs open a run again that was closed
  UPDATE archi3d.runs SET job_count = job_count + (SELECT count(*) FROM added),
    closed_at = CASE WHEN EXISTS (SELECT FROM added) THEN NULL ELSE closed_at END WHERE run_no = $1
)
SELECT count(*) FROM added
