-- What attempts of a job bought that brought no result and is not void.  $1 job
SELECT request_id, cost_micros, number, attempt_id FROM archi3d.purchases WHERE job_no = $1 AND state = 'open' ORDER BY at, number
