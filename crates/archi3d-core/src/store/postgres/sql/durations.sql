-- How long real results took lately, by algorithm: advice for leases and forecasts. Copies are none.  $1 run  $2 of the last so many
SELECT algo, count(*), avg(seconds), percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds), percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds),
       sum(cost_micros)::bigint, count(*) FILTER (WHERE cost_micros IS NULL)
FROM (SELECT j.algo, r.seconds, r.cost_micros FROM archi3d.results r JOIN archi3d.jobs j ON j.id = r.job_no
      LEFT JOIN archi3d.attempts a ON a.job_no = r.job_no AND a.number = r.number
      WHERE NOT r.simulated AND r.seconds IS NOT NULL AND a.price_source IS DISTINCT FROM 'reused' AND r.run_no = $1
      ORDER BY r.created_at DESC LIMIT $2) lately
GROUP BY algo ORDER BY algo
