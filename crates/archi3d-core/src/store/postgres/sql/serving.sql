-- Run by every connection before it judges a lease: a timeline that nobody has seen yet is a fail-over just now.
INSERT INTO archi3d.serving AS s (one, timeline, since)
SELECT true, left(pg_walfile_name(pg_current_wal_lsn()), 8), 'epoch' WHERE NOT pg_is_in_recovery()
ON CONFLICT (one) DO UPDATE SET timeline = EXCLUDED.timeline, since = now() WHERE s.timeline <> EXCLUDED.timeline
RETURNING timeline
