-- A worker's slots but for those it knows of: their answers were lost, and its beats would renew them for ever.
-- $1 worker  $2 providers  $3 slots
DELETE FROM archi3d.provider_slots p WHERE worker_id = $1
  AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::int[]) AS kept(provider, slot) WHERE kept.provider = p.provider AND kept.slot = p.slot)
RETURNING provider
