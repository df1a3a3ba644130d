-- A run counted by algorithm without reading what has succeeded: that is the rest.  $1 run
SELECT a.algo, a.jobs,
  (SELECT count(*) FROM archi3d.jobs j WHERE j.run_no = a.run_no AND j.algo = a.algo AND j.status = 'pending'),
  COALESCE(v.retryable, 0), COALESCE(v.running, 0), COALESCE(e.failed, 0), COALESCE(e.cancelled, 0), COALESCE(v.expired, 0),
  (SELECT count(*) FROM archi3d.jobs j WHERE j.run_no = a.run_no AND j.algo = a.algo AND j.status = 'succeeded' AND j.simulated)
FROM archi3d.run_algos a
LEFT JOIN (SELECT algo, count(*) FILTER (WHERE status = 'failed_retryable') AS retryable, count(*) FILTER (WHERE status = 'running') AS running,
                  count(*) FILTER (WHERE status = 'running' AND lease_expires_at <= now()) AS expired
           FROM (SELECT algo, status, lease_expires_at FROM archi3d.jobs WHERE run_no = $1 AND status = 'failed_retryable'
                 UNION ALL SELECT algo, status, lease_expires_at FROM archi3d.jobs WHERE run_no = $1 AND status = 'running') x GROUP BY algo) v ON v.algo = a.algo
LEFT JOIN (SELECT algo, count(*) FILTER (WHERE status = 'failed_terminal') AS failed, count(*) FILTER (WHERE status = 'cancelled') AS cancelled
           FROM archi3d.jobs WHERE run_no = $1 AND status IN ('failed_terminal','cancelled') GROUP BY algo) e ON e.algo = a.algo
WHERE a.run_no = $1 ORDER BY a.first_position
