-- How long real results took, by algorithm, of the last ones of every run.  $1 of the last so many of each
SELECT algo, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)
FROM archi3d.runs run CROSS JOIN LATERAL (
  SELECT j.algo, r.seconds FROM archi3d.results r JOIN archi3d.jobs j ON j.id = r.job_no
  LEFT JOIN archi3d.attempts a ON a.job_no = r.job_no AND a.number = r.number
  WHERE NOT r.simulated AND r.seconds IS NOT NULL AND a.price_source IS DISTINCT FROM 'reused' AND r.run_no = run.run_no
  ORDER BY r.created_at DESC LIMIT $1) lately
GROUP BY algo ORDER BY algo
