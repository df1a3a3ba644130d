-- Whether anything of these algorithms waits, is to be tried again or runs, without counting it.  $1 run  $2 algos
-- A subquery that ends at the first row in the order of an index is a look at that index, whatever the planner thinks of the table's size.
SELECT EXISTS (SELECT FROM unnest($2::text[]) AS lane(algo) WHERE COALESCE(
  (SELECT id FROM archi3d.jobs WHERE run_no = $1 AND algo = lane.algo AND status = 'pending' ORDER BY claim_key LIMIT 1),
  (SELECT id FROM archi3d.jobs WHERE run_no = $1 AND algo = lane.algo AND status = 'failed_retryable' ORDER BY run_after LIMIT 1),
  (SELECT id FROM archi3d.jobs WHERE run_no = $1 AND algo = lane.algo AND status = 'running' ORDER BY id LIMIT 1)) IS NOT NULL)
