-- Jobs that turned out dearer than what was reserved for them: of a run, and of today of every run.  $1 run
SELECT run.run_id, s.job_id, max(l.micros) FROM archi3d.ledger l
JOIN archi3d.job_specs s ON s.job_no = l.job_no JOIN archi3d.runs run ON run.run_no = s.run_no
WHERE l.raised AND (s.run_no = $1 OR l.at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
GROUP BY 1, 2 ORDER BY 1, 2
