-- What is reserved for a job; locked, because a late bill may come at the same moment.  $1 job
SELECT number, attempt_id, run_scope, day_scope, micros, taken_over FROM archi3d.reservations WHERE job_no = $1 FOR UPDATE
