INSERT INTO archi3d.checkpoints (job_no, number, kind, worker_id, detail) VALUES ($1, $2, $3, $4, $5::text::jsonb) RETURNING id
