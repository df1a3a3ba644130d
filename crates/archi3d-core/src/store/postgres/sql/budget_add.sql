-- Moves the sums of one scope; no row: the cap refuses. Scopes are taken in one order (run, then days), so that nobody
-- waits in a circle.  $1 scope  $2 more reserved  $3 more spent  $4 cap or null
INSERT INTO archi3d.budgets AS b (scope, reserved, spent)
SELECT $1, $2, $3 WHERE $4::bigint IS NULL OR $2::bigint + $3::bigint <= $4
ON CONFLICT (scope) DO UPDATE SET reserved = b.reserved + EXCLUDED.reserved, spent = b.spent + EXCLUDED.spent
WHERE $4::bigint IS NULL OR b.spent + b.reserved + EXCLUDED.reserved + EXCLUDED.spent <= $4
RETURNING spent, reserved
