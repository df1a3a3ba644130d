-- An event stands once for each that hears of it, whoever saw it.  $1 events  $2 who hears  $3 texts  $4 whether they are over already
INSERT INTO archi3d.notices (event, target, body, over_at)
SELECT event, target, body, CASE WHEN $4 OR target = '' THEN clock_timestamp() END FROM unnest($1::text[], $2::text[], $3::text[]) AS t(event, target, body)
ON CONFLICT DO NOTHING RETURNING event
