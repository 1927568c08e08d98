-- What makes a run durable: its journal, what it waits for, and whom to tell of its end.

-- The outcomes of a run's durable calls in the order in which its code saw them. `position` is the order of the calls:
-- a replay finds the outcome of a call by it and hands outcomes out by `sequence`.
CREATE TABLE run_journal (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  sequence integer NOT NULL,
  position integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('step', 'value', 'wait', 'token', 'child_run', 'output', 'input')),
  name text NOT NULL,
  value text,
  error text,
  attempt_number integer NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, run_id, sequence),
  UNIQUE (environment_id, run_id, position)
);

-- One row a wait, with one winner: whoever first takes it out of `pending` under the lock of the run's live row. What it
-- resolved to is read from where it is: the token, the record, the ended run, none of which changes any more.
CREATE TABLE run_waits (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  position integer NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('timer', 'token', 'input', 'run')),
  status text NOT NULL CHECK (status IN ('pending', 'resolved', 'timed_out', 'cancelled')),
  token_id uuid,
  stream_id uuid,
  -- The record of the stream that is waited for; null once there will be none.
  record_sequence integer,
  child_run_id uuid,
  timeout_at timestamptz,
  -- The run's journal has the outcome: it need not be told again.
  accepted boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  settled_at timestamptz,
  PRIMARY KEY (environment_id, run_id, position),
  CHECK ((status = 'pending') = (settled_at IS NULL)),
  CHECK (NOT accepted OR status <> 'pending'),
  CHECK ((kind = 'timer') = (token_id IS NULL AND stream_id IS NULL AND child_run_id IS NULL)),
  CHECK (kind <> 'timer' OR timeout_at IS NOT NULL)
);
CREATE INDEX run_waits_due ON run_waits (timeout_at) WHERE status = 'pending' AND timeout_at IS NOT NULL;
CREATE INDEX run_waits_token ON run_waits (environment_id, token_id) WHERE status = 'pending' AND token_id IS NOT NULL;
CREATE INDEX run_waits_input ON run_waits (environment_id, stream_id) WHERE status = 'pending' AND stream_id IS NOT NULL;
CREATE INDEX run_waits_child ON run_waits (environment_id, child_run_id) WHERE status = 'pending' AND child_run_id IS NOT NULL;

-- Runs that have ended and whose caller or session does not know it yet. A row is written with the end and deleted by
-- whoever has told them, so that a crash in between loses nothing.
CREATE TABLE awaited_endings (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  PRIMARY KEY (environment_id, run_id)
);

ALTER TABLE executions
  -- The run that called it or its session is to be told of its end.
  ADD COLUMN end_awaited boolean NOT NULL DEFAULT false,
  ADD COLUMN journal_sequence integer NOT NULL DEFAULT 0,
  ADD COLUMN journal_bytes integer NOT NULL DEFAULT 0,
  ADD COLUMN wait_count integer NOT NULL DEFAULT 0,
  -- How long the attempt had run when it last began to wait, and when it went on: what its max_duration counts.
  ADD COLUMN active_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN resumed_at timestamptz;
