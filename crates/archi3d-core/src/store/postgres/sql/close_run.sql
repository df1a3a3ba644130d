-- Everything that had ended by then is exported: may be pruned. Refused while anything waits or runs.  $1 run  $2 by when
UPDATE archi3d.runs SET closed_at = $2 WHERE run_no = $1 AND (closed_at IS NULL OR closed_at < $2)
  AND NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = $1 AND j.status = 'pending')
  AND NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = $1 AND j.status = 'failed_retryable')
  AND NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = $1 AND j.status = 'running') RETURNING run_no
