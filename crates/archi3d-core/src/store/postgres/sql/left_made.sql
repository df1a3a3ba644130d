-- What attempts of workers that are dead said they had made and did not come to tell: of jobs that are still in their hands, or
-- that nobody has begun since.
-- $1 run  $2 workers  $3 only these jobs, or null: all that they hold  $4 not these  $5 the machine
SELECT s.job_id, j.id, a.number, a.attempt_id, a.entry::text, a.started_at, a.made::text, j.request_id IS NOT NULL
FROM archi3d.jobs j JOIN archi3d.attempts a ON a.job_no = j.id AND a.number = j.attempt_count
JOIN archi3d.job_specs s ON s.job_no = j.id
WHERE j.id IN (SELECT id FROM archi3d.jobs WHERE run_no = $1 AND status = 'running' AND lease_owner = ANY ($2) AND $3::bigint[] IS NULL
               UNION ALL SELECT unnest($3::bigint[]))
  AND j.id <> ALL ($4::bigint[]) AND a.worker_id = ANY ($2)
  -- One that bears the name of a dead one of this machine and lives on another is not meant.
  AND EXISTS (SELECT FROM archi3d.workers w WHERE w.worker_id = a.worker_id AND w.host = $5) AND a.status IN ('running','lost') AND a.made IS NOT NULL AND NOT a.rehearsal
