-- Jobs by id, or by the beginning of one: a range of the index, because the key is compared by bytes.
-- $1 run id  $2 beginning  $3 most
SELECT s.job_no, s.position, s.job_id, s.product_id, s.variant, j.algo, s.payload::text, j.status::text, j.attempt_count, j.simulated,
       j.lease_owner, w.host, a.started_at, w.last_seen, j.lease_expires_at <= now(), j.cancel_asked, j.last_error, j.last_class::text,
       CASE WHEN j.run_after > now() THEN j.run_after END, j.request_id, j.intent, j.intent_at, j.tried, j.holder_died, j.failures, j.lost,
       j.purchases, j.progress, j.doing, j.entry::text, j.completed_at
FROM archi3d.job_specs s JOIN archi3d.jobs j ON j.id = s.job_no
LEFT JOIN archi3d.workers w ON w.worker_id = j.lease_owner
LEFT JOIN archi3d.attempts a ON j.current_attempt_id IS NOT NULL AND a.job_no = j.id AND a.number = j.attempt_count
WHERE s.idempotency_key >= $1 || '/' || $2 AND s.idempotency_key < $1 || '/' || $2 || U&'\+10FFFF' ORDER BY s.idempotency_key LIMIT $3
