-- Which version of its algorithm made each result.  $1 run
SELECT s.job_id, r.algo_version FROM archi3d.results r JOIN archi3d.job_specs s USING (job_no) WHERE r.run_no = $1 AND r.algo_version IS NOT NULL
