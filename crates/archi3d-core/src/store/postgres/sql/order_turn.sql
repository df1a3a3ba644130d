-- One at a time for each of these until the transaction ends, taken in one order so that nobody waits in a circle.  $1 numbers
SELECT true FROM (SELECT DISTINCT k FROM unnest($1::bigint[]) k ORDER BY k) t, LATERAL pg_advisory_xact_lock(t.k)
