-- What tells this database from others that use the same bucket; a copy of it has the same name.
SELECT encode(sha256(convert_to(extract(epoch FROM applied_at)::text || encode(checksum, 'hex'), 'UTF8')), 'hex')
FROM archi3d.schema_migrations WHERE version = 1
