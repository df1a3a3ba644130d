-- One more job on trial, if there is room; no row: the trials have begun already.  $1 run  $2 algo  $3 most
INSERT INTO archi3d.canaries AS c (run_no, algo, begun) SELECT $1, $2, 1 WHERE $3 >= 1
ON CONFLICT (run_no, algo) DO UPDATE SET begun = c.begun + 1 WHERE c.begun < $3 AND c.released_at IS NULL
RETURNING begun
