-- Jobs of a run whose product a word names or begins with; the caller compares variants.  $1 run  $2 the word
SELECT s.job_id FROM archi3d.job_specs s
WHERE s.run_no = $1 AND left(lower($2), length(s.product_id)) = lower(s.product_id) ORDER BY s.position
