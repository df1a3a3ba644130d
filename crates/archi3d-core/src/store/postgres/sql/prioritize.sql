-- $1 run  $2 only these jobs, or null  $3 priority
WITH chosen AS (
  SELECT unnest($2::bigint[]) AS id UNION ALL SELECT job_no FROM archi3d.job_specs WHERE $2 IS NULL AND run_no = $1
)
UPDATE archi3d.jobs j SET priority = $3 FROM chosen WHERE j.id = chosen.id AND j.run_no = $1 AND j.priority <> $3 RETURNING j.id
