-- What is on record of the money of attempts.  $1 jobs  $2 attempt ids
SELECT a.job_no, a.attempt_id, a.status::text, a.class::text, a.cost_micros, a.rehearsal, a.void,
       COALESCE(a.request_id, a.resumed) IS NOT NULL AS bought, a.intent_at IS NOT NULL AS intended,
       a.cut_off, a.status = 'released' AND a.error = 'budget' AS unfunded
FROM unnest($1::bigint[], $2::uuid[]) AS t(id, attempt_id)
JOIN archi3d.attempts a ON a.job_no = t.id AND a.attempt_id = t.attempt_id
