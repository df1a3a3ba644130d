-- $1 scopes
SELECT t.scope, COALESCE(b.spent, 0), COALESCE(b.reserved, 0) FROM unnest($1::text[]) AS t(scope) LEFT JOIN archi3d.budgets b USING (scope)
