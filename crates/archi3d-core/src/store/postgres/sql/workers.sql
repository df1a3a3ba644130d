-- Who is there, and what each holds. Slow is not dead: `silent` says how long ago it was heard of.  $1 run or null
SELECT w.worker_id, w.host, w.pid, w.version, r.run_id, w.slots, w.state, w.started_at, w.last_seen,
       extract(epoch FROM now() - w.last_seen)::float8, w.lease_seconds,
       (SELECT count(*) FROM archi3d.jobs j WHERE j.status = 'running' AND j.lease_owner = w.worker_id)
FROM archi3d.workers w LEFT JOIN archi3d.runs r ON r.run_no = w.run_no
WHERE $1::bigint IS NULL OR w.run_no IS NULL OR w.run_no = $1 ORDER BY w.started_at
