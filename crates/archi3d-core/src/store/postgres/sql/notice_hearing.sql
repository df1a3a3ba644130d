-- Who hears of what.
SELECT event, target FROM archi3d.notices WHERE event LIKE 'begun:%'
