SELECT run_no, run_id, parameters::text, header, job_count, lease_seconds, artifacts_url, created_at, closed_at FROM archi3d.runs ORDER BY created_at, run_no
