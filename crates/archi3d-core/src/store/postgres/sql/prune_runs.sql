-- Runs that were closed so many days ago and have no job left.  $1 days
DELETE FROM archi3d.runs r WHERE r.closed_at < now() - make_interval(days => $1)
  AND NOT EXISTS (SELECT FROM archi3d.job_specs s WHERE s.run_no = r.run_no) RETURNING r.run_id
