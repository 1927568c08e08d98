-- A run can continue with an empty journal and a new payload. How often it has, and the attempts that it had made before: those
-- since then are counted from 1.
ALTER TABLE executions
  ADD COLUMN continuations integer NOT NULL DEFAULT 0,
  ADD COLUMN attempts_before integer NOT NULL DEFAULT 0;

-- What each run goes on with that has continued, live or ended. Runs themselves have what they were started with.
CREATE TABLE run_continuations (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  -- JSON; null for none.
  payload text,
  continued_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, run_id)
);
