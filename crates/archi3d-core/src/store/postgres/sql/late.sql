-- Results of a run that came too late or were kept aside, and those that were made again before anybody had pulled them, with their
-- files.  $1 run
SELECT l.job_id, l.kept_at,
  ARRAY(SELECT f.name FROM archi3d.artifacts f WHERE f.job_no = l.job_no AND f.number = l.number ORDER BY f.name),
  ARRAY(SELECT f.size FROM archi3d.artifacts f WHERE f.job_no = l.job_no AND f.number = l.number ORDER BY f.name),
  ARRAY(SELECT f.sha256 FROM archi3d.artifacts f WHERE f.job_no = l.job_no AND f.number = l.number ORDER BY f.name)
FROM (
  SELECT s.position, s.job_id, a.job_no, a.number, a.kept_at
  FROM archi3d.job_specs s JOIN archi3d.attempts a ON a.job_no = s.job_no WHERE s.run_no = $1 AND a.kept_at IS NOT NULL
  UNION ALL
  SELECT s.position, s.job_id, p.job_no, p.number, s.job_id || '.' || p.number::text || '-' || left(replace(a.attempt_id::text, '-', ''), 8)
  FROM archi3d.runs r JOIN archi3d.results_replaced p ON p.run_no = r.run_no JOIN archi3d.job_specs s ON s.job_no = p.job_no
  JOIN archi3d.attempts a ON a.job_no = p.job_no AND a.number = p.number
  WHERE r.run_no = $1 AND NOT p.simulated AND a.kept_at IS NULL AND (r.closed_at IS NULL OR p.created_at > r.closed_at)
) l
WHERE EXISTS (SELECT FROM archi3d.artifacts f WHERE f.job_no = l.job_no AND f.number = l.number)
ORDER BY l.position, l.number
