SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'), run_no, algo FROM archi3d.jobs WHERE id = $1
