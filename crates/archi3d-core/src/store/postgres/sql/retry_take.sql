-- The jobs of an order to retry wait again.  $1 which
UPDATE archi3d.orders SET taken_at = clock_timestamp() WHERE retry = $1 AND taken_at IS NULL RETURNING id
