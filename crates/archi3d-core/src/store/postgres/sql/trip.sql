-- One ending that speaks of the algorithm, counted for all workers together. With $3 = 1 it is paused from now, whether it was
-- paused before or not: the job that tried it failed again.
--  $1 algo  $2 failed  $3 most in a row  $4 reason
INSERT INTO archi3d.breakers AS b (algo, failures_in_a_row, paused_at, reason)
VALUES ($1, $2::bool::int, CASE WHEN $2 AND $3 <= 1 THEN now() END, CASE WHEN $2 AND $3 <= 1 THEN $4 END)
ON CONFLICT (algo) DO UPDATE SET failures_in_a_row = CASE WHEN $2 THEN b.failures_in_a_row + 1 ELSE 0 END,
  paused_at = CASE WHEN $2 AND (b.paused_at IS NULL OR $3 <= 1) AND b.failures_in_a_row + 1 >= $3 THEN now() ELSE b.paused_at END,
  reason = CASE WHEN $2 AND (b.paused_at IS NULL OR $3 <= 1) AND b.failures_in_a_row + 1 >= $3 THEN $4 ELSE b.reason END
WHERE $2 OR b.failures_in_a_row > 0
RETURNING failures_in_a_row, paused_at IS NOT NULL
