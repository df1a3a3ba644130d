-- A slot is given back; `unused`: the place in the minute too.
-- $1 provider  $2 slot or null  $3 worker  $4 seconds between starts or null  $5 unused
WITH gone AS (
  DELETE FROM archi3d.provider_slots WHERE provider = $1 AND slot = $2::int AND worker_id = $3
), paced AS (
  UPDATE archi3d.providers SET next_start = next_start - make_interval(secs => $4::float8) WHERE provider = $1 AND $5 AND $4::float8 IS NOT NULL
)
SELECT true
