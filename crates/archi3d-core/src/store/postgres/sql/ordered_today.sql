-- What somebody ordered since midnight, UTC.  $1 who
SELECT COALESCE(sum(expected_micros), 0)::bigint FROM archi3d.orders
WHERE ordered_by = $1 AND at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
