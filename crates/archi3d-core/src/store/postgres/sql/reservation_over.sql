DELETE FROM archi3d.reservations WHERE job_no = $1 RETURNING micros
