-- What is due, for one sender at a time; who dies over it leaves it to the next.  $1 how many  $2 for how many seconds it is the taker's
UPDATE archi3d.notices n SET tries = tries + 1, next_at = clock_timestamp() + make_interval(secs => $2)
FROM (SELECT event, target FROM archi3d.notices WHERE over_at IS NULL AND next_at <= clock_timestamp()
      ORDER BY next_at LIMIT $1 FOR UPDATE SKIP LOCKED) due
WHERE n.event = due.event AND n.target = due.target RETURNING n.event, n.target, n.body, n.tries
