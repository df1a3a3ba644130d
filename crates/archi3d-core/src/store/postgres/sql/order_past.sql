-- Before another run of the same parameters is added: the index runs_same takes one of them, which is all that services of earlier
-- versions look at.  $1 their hash
UPDATE archi3d.runs SET dedupes = false WHERE payload_hash = $1 AND dedupes RETURNING run_no
