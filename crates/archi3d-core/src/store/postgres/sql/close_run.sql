-- Everything is exported: may be pruned. Refused while anything waits or runs.  $1 run
UPDATE archi3d.runs SET closed_at = now() WHERE run_no = $1 AND closed_at IS NULL
  AND NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = $1 AND j.status = 'pending')
  AND NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = $1 AND j.status = 'failed_retryable')
  AND NOT EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = $1 AND j.status = 'running') RETURNING run_no
