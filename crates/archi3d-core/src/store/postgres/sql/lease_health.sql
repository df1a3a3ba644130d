-- Active and stale leases, and how long ago their holders were heard of.  $1 run or null
SELECT count(*), count(*) FILTER (WHERE j.lease_expires_at <= now()),
       count(*) FILTER (WHERE w.last_seen < now() - make_interval(secs => w.lease_seconds / 2)),
       avg(extract(epoch FROM now() - w.last_seen))::float8, max(extract(epoch FROM now() - a.started_at))::float8
FROM archi3d.jobs j LEFT JOIN archi3d.workers w ON w.worker_id = j.lease_owner
LEFT JOIN archi3d.attempts a ON a.job_no = j.id AND a.number = j.attempt_count
WHERE j.status = 'running' AND ($1::bigint IS NULL OR j.run_no = $1)
