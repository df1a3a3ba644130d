-- $1 worker  $2 state
UPDATE archi3d.workers SET state = $2, last_seen = now() WHERE worker_id = $1 RETURNING worker_id
