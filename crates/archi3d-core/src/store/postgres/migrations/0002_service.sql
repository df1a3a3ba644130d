SET LOCAL search_path = archi3d;

-- Runs that were asked for over the network. The same parameters lead to the same run: of those that may be given back
-- instead of a new one there is one at most, whoever asks at once.
ALTER TABLE runs ADD COLUMN dedupes boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX runs_same ON runs (payload_hash) WHERE dedupes;
-- An answer is given again byte for byte, which jsonb does not keep.
ALTER TABLE idempotency_keys ALTER COLUMN response TYPE text USING response::text;

CREATE TABLE orders (                              -- a run that is to be made, or failed jobs of it that are to be tried again
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_no bigint NOT NULL REFERENCES runs ON DELETE CASCADE,
  retry uuid UNIQUE,                               -- null: the run itself
  ordered_by text NOT NULL, expected_micros bigint NOT NULL,
  body json NOT NULL,                              -- what was asked for and confirmed, verbatim
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  taken_at timestamptz                             -- of a retry: a worker has it
);
CREATE UNIQUE INDEX orders_run ON orders (run_no) WHERE retry IS NULL;
CREATE INDEX orders_by ON orders (ordered_by, at);
CREATE INDEX orders_retries ON orders (id) WHERE retry IS NOT NULL AND taken_at IS NULL;

-- What is to be told outside: an event once for each that hears of it, whoever saw it.
CREATE TABLE notices (
  event text NOT NULL, target text NOT NULL, body text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  tries int NOT NULL DEFAULT 0, next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  over_at timestamptz, error text, PRIMARY KEY (event, target)
);
CREATE INDEX notices_due ON notices (next_at) WHERE over_at IS NULL;
