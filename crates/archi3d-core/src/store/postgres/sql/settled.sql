-- The attempts of some jobs whose money is settled.  $1 jobs
SELECT attempt_id FROM archi3d.ledger WHERE job_no = ANY ($1) AND change <> 'reserved'
