-- Whoever takes jobs on trial does so one after the other.  $1 run  $2 algo
INSERT INTO archi3d.canaries AS c (run_no, algo, begun) VALUES ($1, $2, 1)
ON CONFLICT (run_no, algo) DO UPDATE SET begun = c.begun + 1 RETURNING begun
