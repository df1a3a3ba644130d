-- What was spent, by algo and by day, and how often a person said so.  $1 run or null
SELECT run.run_id, j.algo, to_char(l.at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), sum(l.micros)::bigint, count(*), count(*) FILTER (WHERE l.by_hand)
FROM archi3d.ledger l JOIN archi3d.jobs j ON j.id = l.job_no JOIN archi3d.runs run ON run.run_no = j.run_no
WHERE l.change <> 'reserved' AND ($1::bigint IS NULL OR j.run_no = $1)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
