-- Attempts that ended in the last so many seconds, by how, with their mean number.  $1 run or null  $2 seconds
SELECT a.status::text, count(*), avg(a.number)::float8 FROM archi3d.attempts a JOIN archi3d.jobs j ON j.id = a.job_no
WHERE a.ended_at > now() - make_interval(secs => $2::float8) AND ($1::bigint IS NULL OR j.run_no = $1) GROUP BY 1 ORDER BY 1
