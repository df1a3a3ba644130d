-- Every attempt of some jobs.  $1 jobs
SELECT a.job_no, a.number, a.attempt_id, a.worker_id, w.host, a.status::text, a.entry::text, a.rehearsal, a.class::text, a.error,
       a.cut_off, a.resumed, a.request_id, a.intent_at, a.submitted_at, a.void, a.cost_micros, a.price_source, a.seconds,
       a.kept_at, a.started_at, a.ended_at,
       a.status = 'running' AND EXISTS (SELECT FROM archi3d.jobs j WHERE j.id = a.job_no AND j.lease_expires_at <= now())
FROM archi3d.attempts a LEFT JOIN archi3d.workers w ON w.worker_id = a.worker_id
WHERE a.job_no = ANY ($1) ORDER BY a.job_no, a.number
