-- A trial is over; `ok` null: it was given back and does not count.  $1 run  $2 algo  $3 ok
UPDATE archi3d.canaries SET succeeded = succeeded + COALESCE($3, false)::int, failed = failed + COALESCE(NOT $3, false)::int,
  begun = begun - ($3 IS NULL)::int
WHERE run_no = $1 AND algo = $2 RETURNING begun, succeeded, failed
