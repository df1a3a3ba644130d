SELECT algo, begun, succeeded, failed, released_at IS NOT NULL FROM archi3d.canaries WHERE run_no = $1 ORDER BY algo
