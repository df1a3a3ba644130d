-- What runs now, in the order of the manifest.  $1 run  $2 most
SELECT s.job_no, s.position, s.job_id, s.product_id, s.variant, j.algo, s.payload::text, j.status::text, j.attempt_count, j.simulated,
       j.lease_owner, w.host, a.started_at, w.last_seen, j.lease_expires_at <= now(), j.cancel_asked, j.last_error, j.last_class::text,
       CASE WHEN j.run_after > now() THEN j.run_after END, j.request_id, j.intent, j.intent_at, j.tried, j.holder_died, j.failures, j.lost,
       j.purchases, j.progress, j.doing, j.entry::text, j.completed_at
FROM (SELECT id FROM archi3d.jobs WHERE run_no = $1 AND status = 'running' ORDER BY id LIMIT $2) r
JOIN archi3d.jobs j ON j.id = r.id JOIN archi3d.job_specs s ON s.job_no = j.id
LEFT JOIN archi3d.workers w ON w.worker_id = j.lease_owner
LEFT JOIN archi3d.attempts a ON j.current_attempt_id IS NOT NULL AND a.job_no = j.id AND a.number = j.attempt_count
ORDER BY s.position
