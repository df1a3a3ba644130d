-- What jobs of each algorithm cost at most where that was more than had been reserved: of a run, and of today of every run.  $1 run
SELECT j.algo, max(l.micros) FROM archi3d.ledger l JOIN archi3d.jobs j ON j.id = l.job_no
WHERE l.raised AND (j.run_no = $1 OR l.at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
GROUP BY 1 ORDER BY 1
