-- The last place that is taken in a run; -1 if none is.  $1 run
SELECT COALESCE((SELECT position FROM archi3d.job_specs WHERE run_no = $1 ORDER BY position DESC LIMIT 1), -1)
