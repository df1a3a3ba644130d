DELETE FROM archi3d.provider_slots WHERE worker_id = $1 RETURNING provider
