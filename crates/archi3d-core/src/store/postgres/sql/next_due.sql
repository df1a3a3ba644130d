-- When there may be something to take: seconds to the next retry and to the next lease that may expire.  $1 run
SELECT (SELECT extract(epoch FROM min(run_after) - now())::float8 FROM archi3d.jobs WHERE run_no = $1 AND status = 'failed_retryable'),
       (SELECT extract(epoch FROM min(lease_expires_at) - now())::float8 FROM archi3d.jobs WHERE run_no = $1 AND status = 'running'),
       (SELECT id FROM archi3d.jobs WHERE run_no = $1 AND status = 'pending' ORDER BY algo, claim_key LIMIT 1) IS NOT NULL
