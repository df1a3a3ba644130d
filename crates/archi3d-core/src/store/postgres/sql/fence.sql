-- Is the job still mine, and which day is it? The row stays locked to the end of the transaction.  $1 job  $2 attempt id
SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'), run_no, algo FROM archi3d.jobs WHERE id = $1 AND current_attempt_id = $2 FOR NO KEY UPDATE
