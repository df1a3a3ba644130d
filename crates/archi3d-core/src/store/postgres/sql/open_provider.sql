UPDATE archi3d.providers SET closed_at = NULL, closed_until = NULL, closed_reason = NULL WHERE provider = $1 AND closed_at IS NOT NULL RETURNING provider
