-- Jobs that are not there yet. Two statements' worth in one: a job without its spec never exists.
-- $1 run  $2 run id  $3 positions  $4 job ids  $5 algos  $6 products  $7 variants  $8 providers  $9 payloads  $10 hashes  $11 rows  $12 priority  $13 most attempts
WITH new AS (
  SELECT t.*, $2 || '/' || t.job_id AS key
  FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bytea[])
    AS t(position, job_id, algo, product_id, variant, provider, payload, payload_hash, cells)
), added AS (
  INSERT INTO archi3d.jobs (run_no, algo, position, priority, max_attempts)
  SELECT $1, algo, position, $12, $13 FROM new
  WHERE NOT EXISTS (SELECT FROM archi3d.job_specs s WHERE s.idempotency_key = new.key)
  ORDER BY position RETURNING id, position, algo
), specs AS (
  INSERT INTO archi3d.job_specs (job_no, run_no, position, job_id, idempotency_key, product_id, variant, provider, payload, payload_hash, cells)
  SELECT added.id, $1, new.position, new.job_id, new.key, new.product_id, new.variant, new.provider, new.payload::json, new.payload_hash, new.cells
  FROM added JOIN new USING (position)
), counted AS (
  INSERT INTO archi3d.run_algos AS a (run_no, algo, first_position, jobs)
  SELECT $1, algo, min(position), count(*) FROM added GROUP BY algo
  ON CONFLICT (run_no, algo) DO UPDATE SET jobs = a.jobs + EXCLUDED.jobs, first_position = LEAST(a.first_position, EXCLUDED.first_position)
), total AS (
  UPDATE archi3d.runs SET job_count = job_count + (SELECT count(*) FROM added) WHERE run_no = $1
)
SELECT count(*) FROM added
