-- First statement of the transaction that admits: the second one must see every slot that others took before.
SELECT provider FROM archi3d.providers WHERE provider = $1 FOR UPDATE
