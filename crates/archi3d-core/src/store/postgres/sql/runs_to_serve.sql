-- Runs that have something for a worker of these algorithms, the most urgent first: what waits, what is due again, what the
-- dead held, what was only rehearsed; and runs of which results wait on the worker's own disk, whatever their jobs became. One
-- row of an index for each; claim_key begins with the priority, turned around.
-- $1 algos  $2 only these runs, or null  $3 runs whose results wait on the worker's disk
SELECT r.run_no, r.run_id, r.parameters::text, r.artifacts_url IS NOT NULL, min(job.claim_key) >> 44
FROM archi3d.runs r JOIN archi3d.run_algos a ON a.run_no = r.run_no AND a.algo = ANY ($1)
CROSS JOIN LATERAL (
  (SELECT j.claim_key FROM archi3d.jobs j
   WHERE j.run_no = r.run_no AND j.algo = a.algo AND j.status = 'pending' AND j.run_after <= now() ORDER BY j.claim_key LIMIT 1)
  UNION ALL
  (SELECT j.claim_key FROM archi3d.jobs j
   WHERE j.run_no = r.run_no AND j.algo = a.algo AND j.status = 'failed_retryable' AND j.run_after <= now() LIMIT 1)
  UNION ALL
  (SELECT j.claim_key FROM archi3d.jobs j
   WHERE j.run_no = r.run_no AND j.algo = a.algo AND j.status = 'running' AND j.lease_expires_at < now() LIMIT 1)
  UNION ALL
  (SELECT j.claim_key FROM archi3d.jobs j
   WHERE j.run_no = r.run_no AND j.algo = a.algo AND j.status = 'succeeded' AND j.simulated LIMIT 1)
  UNION ALL
  (SELECT j.claim_key FROM archi3d.jobs j WHERE r.run_id = ANY ($3) AND j.run_no = r.run_no AND j.algo = a.algo LIMIT 1)
) job
-- A run that was pulled whole is passed over, unless something of it was put back since: `fleet pull` knows by closed_at what it has.
WHERE (r.closed_at IS NULL OR r.run_id = ANY ($3)
    OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'pending')
    OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'failed_retryable')
    OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'running')) AND ($2::text[] IS NULL OR r.run_id = ANY ($2))
GROUP BY r.run_no ORDER BY 5, 1
