-- What workers that follow are to do: retries that nobody took, then runs with jobs to do, in the order in which they were asked for.
SELECT r.run_id, o.retry IS NOT NULL, o.body::text FROM archi3d.orders o JOIN archi3d.runs r USING (run_no)
WHERE o.retry IS NOT NULL AND o.taken_at IS NULL
   OR o.retry IS NULL AND r.closed_at IS NULL AND (
        EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'pending')
     OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'running')
     OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'failed_retryable')
     OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'succeeded' AND j.simulated))
ORDER BY o.retry IS NULL, o.id
