SELECT algo, failures_in_a_row, paused_at, COALESCE(reason, '') FROM archi3d.breakers WHERE paused_at IS NOT NULL ORDER BY algo
