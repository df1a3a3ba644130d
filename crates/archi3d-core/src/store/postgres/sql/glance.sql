-- The moment, whether anybody works on a run, and how its money and the day's stand.  $1 run
SELECT now(), EXISTS (SELECT FROM archi3d.workers w WHERE w.run_no = $1 AND w.state <> 'ended' AND w.last_seen > now() - make_interval(secs => w.lease_seconds)),
       COALESCE(r.spent, 0), COALESCE(r.reserved, 0), COALESCE(d.spent, 0), COALESCE(d.reserved, 0)
FROM (SELECT 'run:' || $1 AS run, 'day:' || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day) t
LEFT JOIN archi3d.budgets r ON r.scope = t.run LEFT JOIN archi3d.budgets d ON d.scope = t.day
