-- Run before a lease is judged: a timeline that nobody has seen yet is a fail-over just now, a start or statistics that
-- were thrown away (which a crash does under the same postmaster) a recovery. Recovery takes time, so it counts from now.
INSERT INTO archi3d.serving AS s (one, timeline, since)
SELECT true, concat_ws(' ', left(pg_walfile_name(pg_current_wal_lsn()), 8), extract(epoch FROM pg_postmaster_start_time()),
                       (SELECT extract(epoch FROM stats_reset) FROM pg_stat_bgwriter)), 'epoch'
WHERE NOT pg_is_in_recovery()
ON CONFLICT (one) DO UPDATE SET timeline = EXCLUDED.timeline, since = now() WHERE s.timeline <> EXCLUDED.timeline
RETURNING timeline
