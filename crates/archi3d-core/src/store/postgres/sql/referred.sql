-- Every blob that something refers to: files of attempts, and pictures of jobs, of all runs.
SELECT encode(sha256, 'hex') FROM archi3d.artifacts
UNION
SELECT picture->>'sha256' FROM archi3d.job_specs, json_array_elements(payload->'images') AS picture
WHERE json_typeof(payload->'images') = 'array' AND json_typeof(picture) = 'object' AND picture->>'sha256' IS NOT NULL
