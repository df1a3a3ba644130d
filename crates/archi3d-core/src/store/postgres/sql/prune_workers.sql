-- Workers that ended or fell silent so many days ago and hold nothing
DELETE FROM archi3d.workers w WHERE w.last_seen < now() - make_interval(days => $1)
  AND NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.status = 'running' AND j.lease_owner = w.worker_id) RETURNING worker_id
