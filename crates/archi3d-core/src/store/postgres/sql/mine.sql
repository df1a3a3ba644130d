-- What a worker holds, as the server knows it: claims whose answer was lost are among these.  $1 run  $2 worker
SELECT id, attempt_count, current_attempt_id FROM archi3d.jobs WHERE run_no = $1 AND status = 'running' AND lease_owner = $2
