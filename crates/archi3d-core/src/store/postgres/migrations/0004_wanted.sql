SET LOCAL search_path = archi3d;

-- How many jobs of a run can start or run, for whoever starts machines. Nothing waits for a machine whose provider is closed, and
-- nothing new where what its order may cost is spent; of an algorithm that pauses one job tries, ten minutes after it was paused.
-- Of a run that was asked for and is not to be started only failed jobs that were put back count. Limits that only workers know
-- (global.yaml, --budget-usd) are not seen here. One row of an index for each algorithm tells its provider.
CREATE OR REPLACE FUNCTION wanted(run text) RETURNS bigint LANGUAGE sql STABLE SET search_path = archi3d AS $$
  WITH lane AS (
    SELECT a.run_no, a.algo,
      CASE WHEN p.provider IS NOT NULL OR b.paused_at > now() - interval '10 minutes' THEN 0
           WHEN b.paused_at IS NOT NULL THEN 1 ELSE 10000 END AS most,
      COALESCE(m.spent + m.reserved >= o.most_usd * 1000000, false) AS broke,
      CASE WHEN o.starts = false THEN ARRAY(
        SELECT s.job_no FROM orders x CROSS JOIN LATERAL json_array_elements_text(x.body->'jobs') AS again(job_id)
        JOIN job_specs s ON s.run_no = x.run_no AND s.job_id = again.job_id
        WHERE x.run_no = r.run_no AND x.retry IS NOT NULL) END AS named
    FROM runs r JOIN run_algos a USING (run_no)
    LEFT JOIN job_specs s ON s.run_no = a.run_no AND s.position = a.first_position
    LEFT JOIN providers p ON p.provider = COALESCE(s.provider, a.algo)
      AND p.closed_at IS NOT NULL AND (p.closed_until IS NULL OR p.closed_until > now())
    LEFT JOIN breakers b ON b.algo = a.algo AND b.paused_at IS NOT NULL
    LEFT JOIN LATERAL (
      SELECT (array_agg((body->>'max_cost_usd')::numeric ORDER BY id DESC) FILTER (WHERE body->>'max_cost_usd' IS NOT NULL))[1] AS most_usd,
        bool_and((body->>'start')::boolean) FILTER (WHERE retry IS NULL) AS starts
      FROM orders WHERE orders.run_no = r.run_no) o ON true
    LEFT JOIN budgets m ON m.scope = 'run:' || a.run_no::text
    WHERE r.run_id = run
  )
  SELECT COALESCE((SELECT sum(LEAST(lane.most, waits.jobs + due.jobs)) FROM lane
      CROSS JOIN LATERAL (SELECT count(*) AS jobs FROM (
        SELECT FROM jobs j WHERE lane.most > 0 AND j.run_no = lane.run_no AND j.algo = lane.algo AND j.status = 'pending'
          AND j.run_after <= now() AND (NOT lane.broke OR j.request_id IS NOT NULL)
          AND (lane.named IS NULL OR j.id = ANY (lane.named)) LIMIT 10000) few) waits
      CROSS JOIN LATERAL (SELECT count(*) AS jobs FROM jobs j WHERE lane.most > 0 AND j.run_no = lane.run_no AND j.algo = lane.algo
          AND j.status = 'failed_retryable' AND j.run_after <= now() AND (NOT lane.broke OR j.request_id IS NOT NULL)
          AND (lane.named IS NULL OR j.id = ANY (lane.named))) due), 0)::bigint
    + (SELECT count(*) FROM jobs j JOIN runs r USING (run_no) WHERE r.run_id = run AND j.status = 'running') $$;
