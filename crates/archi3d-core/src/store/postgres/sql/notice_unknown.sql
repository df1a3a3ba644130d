-- Events that nobody has put in for nobody.  $1 events
SELECT event FROM unnest($1::text[]) AS t(event)
WHERE NOT EXISTS (SELECT FROM archi3d.notices n WHERE n.event = t.event AND n.target = '')
