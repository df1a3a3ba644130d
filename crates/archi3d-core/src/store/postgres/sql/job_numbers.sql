-- How the database numbers jobs of a run.  $1 run id  $2 job ids
SELECT s.job_no, t.job_id FROM unnest($2::text[]) AS t(job_id) JOIN archi3d.job_specs s ON s.idempotency_key = $1 || '/' || t.job_id
