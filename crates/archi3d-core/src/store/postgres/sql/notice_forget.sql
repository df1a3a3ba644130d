-- These do not hear of it any more.  $1 marks  $2 who heard
DELETE FROM archi3d.notices n USING unnest($1::text[], $2::text[]) AS t(event, target)
WHERE n.event = t.event AND n.target = t.target RETURNING n.event
