-- A person gives a purchase up: the next attempt buys under another key.  $1 job  $2 attempt id
WITH was AS (
  SELECT id, request_id FROM archi3d.jobs WHERE id = $1 AND current_attempt_id = $2 FOR NO KEY UPDATE
), over AS (
  UPDATE archi3d.purchases p SET state = 'given_up' FROM was WHERE p.job_no = was.id AND p.request_id = was.request_id AND p.state = 'open'
)
UPDATE archi3d.jobs j SET request_id = NULL, intent = NULL, intent_at = NULL, purchases = j.purchases + 1
FROM was WHERE j.id = was.id RETURNING j.purchases
