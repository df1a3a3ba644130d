SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'), run_no FROM archi3d.jobs WHERE id = $1
