-- From now on the same parameters may lead to another run.  $1 run
UPDATE archi3d.runs SET dedupes = false WHERE run_no = $1 RETURNING run_no
