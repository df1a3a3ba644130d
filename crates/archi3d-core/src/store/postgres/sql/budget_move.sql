-- Moves the sums of a scope that is there already, in either direction.  $1 scope  $2 more reserved  $3 more spent
UPDATE archi3d.budgets SET reserved = reserved + $2, spent = spent + $3 WHERE scope = $1 RETURNING spent, reserved
