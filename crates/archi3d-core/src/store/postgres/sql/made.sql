-- What the adapter says it made, for whoever comes after us. Told again, the later words count.
-- $1 job  $2 attempt id  $3 number  $4 note
UPDATE archi3d.attempts SET made = $4::text::json WHERE job_no = $1 AND number = $3 AND attempt_id = $2 RETURNING true
