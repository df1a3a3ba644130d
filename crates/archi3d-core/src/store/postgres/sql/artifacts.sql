SELECT name, size, sha256, url FROM archi3d.artifacts WHERE job_no = $1 AND number = $2 ORDER BY name
