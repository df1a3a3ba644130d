-- The registry's rows of a run: each as it was, what every published ending wrote into it, in order, and the files of its result.
-- $1 run  $2 after this position  $3 most
SELECT s.position, s.job_id, j.status::text, s.cells, j.last_error,
  ARRAY(SELECT e.patch FROM (
    SELECT r.number, r.payload::text AS patch FROM archi3d.results r WHERE r.job_no = s.job_no
    UNION ALL SELECT p.number, p.payload::text FROM archi3d.results_replaced p WHERE p.job_no = s.job_no
    UNION ALL SELECT a.number, a.patch::text FROM archi3d.attempts a WHERE a.job_no = s.job_no AND a.patch IS NOT NULL) e ORDER BY e.number),
  r.number, a.attempt_id,
  ARRAY(SELECT f.name FROM archi3d.artifacts f WHERE f.job_no = s.job_no AND f.number = r.number ORDER BY f.name),
  ARRAY(SELECT f.size FROM archi3d.artifacts f WHERE f.job_no = s.job_no AND f.number = r.number ORDER BY f.name),
  ARRAY(SELECT f.sha256 FROM archi3d.artifacts f WHERE f.job_no = s.job_no AND f.number = r.number ORDER BY f.name)
FROM archi3d.job_specs s JOIN archi3d.jobs j ON j.id = s.job_no
LEFT JOIN archi3d.results r ON r.job_no = s.job_no
LEFT JOIN archi3d.attempts a ON a.job_no = r.job_no AND a.number = r.number
WHERE s.run_no = $1 AND s.position > $2 ORDER BY s.position LIMIT $3
