-- What the orders to retry jobs of a run take of caps, what the run may cost since one of them said so, and what the last one may
-- cost in all where nobody did.  $1 run id
SELECT COALESCE(sum(o.expected_micros), 0)::bigint,
  (array_agg((o.body->>'max_cost_usd')::float8 ORDER BY o.id DESC) FILTER (WHERE o.body->>'max_cost_usd' IS NOT NULL))[1],
  (array_agg((o.body->>'accepted_usd')::float8 ORDER BY o.id DESC) FILTER (WHERE o.body->>'accepted_usd' IS NOT NULL))[1]
FROM archi3d.orders o JOIN archi3d.runs r USING (run_no) WHERE r.run_id = $1 AND o.retry IS NOT NULL
