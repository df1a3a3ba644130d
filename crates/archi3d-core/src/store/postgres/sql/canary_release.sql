INSERT INTO archi3d.canaries AS c (run_no, algo, released_at) VALUES ($1, $2, now())
ON CONFLICT (run_no, algo) DO UPDATE SET released_at = COALESCE(c.released_at, now()) RETURNING algo
