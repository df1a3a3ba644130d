-- What was spent on a run, by algorithm: a scope of its own each, so that no line of the ledger is read.  $1 run
SELECT a.algo, b.spent FROM archi3d.run_algos a JOIN archi3d.budgets b ON b.scope = 'algo:' || a.run_no || '/' || a.algo WHERE a.run_no = $1
