-- What the jobs of a run are known by, one page in the order of its manifest.  $1 run  $2 after this position  $3 most
SELECT s.job_no, s.position, s.job_id, s.product_id, s.variant, j.algo
FROM archi3d.job_specs s JOIN archi3d.jobs j ON j.id = s.job_no
WHERE s.run_no = $1 AND s.position > $2 ORDER BY s.position LIMIT $3
