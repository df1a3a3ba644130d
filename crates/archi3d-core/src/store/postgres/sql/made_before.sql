-- Results that attempts of a job said they had made and did not come to publish, newest first.  $1 job
SELECT number, attempt_id, worker_id, made::text FROM archi3d.attempts
WHERE job_no = $1 AND made IS NOT NULL AND status IN ('running','lost','released') ORDER BY number DESC
