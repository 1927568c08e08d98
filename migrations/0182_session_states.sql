-- What a session remembers between its turns: one JSON value, whose version counts how often it was set.
-- oldest server: 0160
CREATE TABLE session_states (
  environment_id uuid NOT NULL,
  session_id uuid NOT NULL,
  version bigint NOT NULL CHECK (version > 0),
  -- JSON.
  value text NOT NULL,
  updated_at timestamptz NOT NULL,
  source_kind text NOT NULL CHECK (source_kind IN ('api', 'run')),
  source_id text NOT NULL,
  run_id uuid,
  attempt_number integer,
  PRIMARY KEY (environment_id, session_id),
  CHECK ((source_kind = 'run') = (run_id IS NOT NULL)),
  CHECK ((run_id IS NULL) = (attempt_number IS NULL)),
  -- A server of the last release drops a session without knowing of its state.
  FOREIGN KEY (environment_id, session_id) REFERENCES sessions (environment_id, id) ON DELETE CASCADE
) WITH (fillfactor = 80);

-- What a run read and set is an outcome of its journal.
ALTER TABLE run_journal DROP CONSTRAINT run_journal_kind_check;
ALTER TABLE run_journal ADD CONSTRAINT run_journal_kind_check
  CHECK (kind IN ('step', 'value', 'wait', 'token', 'child_run', 'output', 'input', 'exec', 'state')) NOT VALID;
