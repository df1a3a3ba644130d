-- What workers that follow are to do: retries whose jobs nobody put back yet; then, of runs with jobs to do, what was asked for,
-- and where nobody wanted them started what of them is to be tried again. In the order in which they were asked for.
SELECT r.run_id, o.retry IS NOT NULL, o.taken_at IS NOT NULL, o.body::text,
  COALESCE((SELECT sum(a.expected_micros) FROM archi3d.orders a WHERE a.run_no = o.run_no AND a.retry IS NOT NULL), 0)::bigint,
  (SELECT (a.body->>'max_cost_usd')::float8 FROM archi3d.orders a
   WHERE a.run_no = o.run_no AND a.retry IS NOT NULL AND a.body->>'max_cost_usd' IS NOT NULL ORDER BY a.id DESC LIMIT 1)
FROM archi3d.orders o JOIN archi3d.runs r USING (run_no)
WHERE o.retry IS NOT NULL AND o.taken_at IS NULL
   OR r.closed_at IS NULL AND (
        EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'pending')
     OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'running')
     OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'failed_retryable')
     OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'succeeded' AND j.simulated))
   AND (o.retry IS NULL OR NOT EXISTS (SELECT FROM archi3d.orders s
     WHERE s.run_no = o.run_no AND s.retry IS NULL AND (s.body->>'start')::boolean))
ORDER BY o.retry IS NULL, o.id
