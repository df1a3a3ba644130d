-- One page of a run in the order of its manifest.  $1 run  $2 after this position  $3 most
SELECT s.job_no, s.position, s.job_id, s.product_id, s.variant, j.algo, s.payload::text, j.status::text, j.attempt_count, j.simulated,
       j.lease_owner, w.host, a.started_at, w.last_seen, j.lease_expires_at <= now(), j.cancel_asked, j.last_error, j.last_class::text,
       CASE WHEN j.run_after > now() THEN j.run_after END, j.request_id, j.intent, j.intent_at, j.tried, j.holder_died, j.failures, j.lost,
       j.purchases, j.progress, j.doing, j.entry::text, j.completed_at
FROM archi3d.job_specs s JOIN archi3d.jobs j ON j.id = s.job_no
LEFT JOIN archi3d.workers w ON w.worker_id = j.lease_owner
LEFT JOIN archi3d.attempts a ON j.current_attempt_id IS NOT NULL AND a.job_no = j.id AND a.number = j.attempt_count
WHERE s.run_no = $1 AND s.position > $2 ORDER BY s.position LIMIT $3
