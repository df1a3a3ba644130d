UPDATE archi3d.breakers SET failures_in_a_row = 0, paused_at = NULL, reason = NULL WHERE algo = $1 AND paused_at IS NOT NULL RETURNING algo
