-- Run before a worker comes in, and before leases are judged by who is none and so has no beats that would have been late: if
-- nobody at work was seen for half its lease, the server may have stood still until now, and no lease is judged before one lease
-- from now. Noted once, until somebody is seen again: the dead are judged some day. Whose leases are longer than those of
-- some holder beats too rarely to speak for it.
WITH quickest AS (
  SELECT min(w.lease_seconds) AS lease FROM archi3d.jobs j JOIN archi3d.workers w ON w.worker_id = j.lease_owner WHERE j.status = 'running'
), at_work AS (
  SELECT max(w.last_seen) AS seen, bool_or(w.last_seen >= now() - make_interval(secs => w.lease_seconds / 2)) AS in_time
  FROM quickest JOIN archi3d.workers w ON w.lease_seconds <= quickest.lease AND w.state <> 'ended'
)
UPDATE archi3d.serving s SET since = now() FROM at_work WHERE NOT at_work.in_time AND s.since <= at_work.seen
RETURNING s.timeline
