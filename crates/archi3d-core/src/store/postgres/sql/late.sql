-- Results of a run that came too late or were kept aside, with their files.  $1 run
SELECT s.job_id, a.kept_at,
  ARRAY(SELECT f.name FROM archi3d.artifacts f WHERE f.job_no = a.job_no AND f.number = a.number ORDER BY f.name),
  ARRAY(SELECT f.size FROM archi3d.artifacts f WHERE f.job_no = a.job_no AND f.number = a.number ORDER BY f.name),
  ARRAY(SELECT f.sha256 FROM archi3d.artifacts f WHERE f.job_no = a.job_no AND f.number = a.number ORDER BY f.name)
FROM archi3d.job_specs s JOIN archi3d.attempts a ON a.job_no = s.job_no
WHERE s.run_no = $1 AND a.kept_at IS NOT NULL
  AND EXISTS (SELECT FROM archi3d.artifacts f WHERE f.job_no = a.job_no AND f.number = a.number)
ORDER BY s.position, a.number
