-- $1 event  $2 who hears  $3 why it did not arrive  $4 seconds until the next try; null: it is over
UPDATE archi3d.notices SET error = $3, over_at = CASE WHEN $4::float8 IS NULL THEN clock_timestamp() END,
  next_at = CASE WHEN $4::float8 IS NULL THEN next_at ELSE clock_timestamp() + make_interval(secs => $4) END
WHERE event = $1 AND target = $2 RETURNING event
