-- The last $1 of each job stay, and of these nothing older than $2 days
DELETE FROM archi3d.checkpoints c USING (
  SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY job_no ORDER BY id DESC) n, created_at FROM archi3d.checkpoints) x
  WHERE n > $1 OR created_at < now() - make_interval(days => $2)) old WHERE c.id = old.id RETURNING c.id
