DELETE FROM archi3d.making WHERE content_key = $1 AND attempt_id = $2 RETURNING true
