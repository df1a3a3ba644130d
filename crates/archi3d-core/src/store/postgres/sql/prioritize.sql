-- $1 run  $2 only these jobs, or null  $3 priority
UPDATE archi3d.jobs SET priority = $3 WHERE run_no = $1 AND ($2::bigint[] IS NULL OR id = ANY ($2)) AND priority <> $3 RETURNING id
