-- Conversations: sessions, their named streams, and the records of those.

CREATE TABLE sessions (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  external_id text,
  entrypoint_kind text NOT NULL CHECK (entrypoint_kind IN ('task', 'actor')),
  entrypoint text NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'closed', 'cancelled', 'failed', 'expired')),
  -- The newest run; whether it is live, its live row says.
  current_run_id uuid NOT NULL,
  turn integer NOT NULL CHECK (turn > 0),
  -- The newest run has ended and the session knows it: the next input starts the next turn.
  idle boolean NOT NULL DEFAULT false,
  -- The start fields that later turns are started with, as JSON.
  start_options text NOT NULL,
  metadata text,
  tags text[],
  workspace_id uuid,
  expires_at timestamptz,
  closed_at timestamptz,
  close_reason text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  CHECK ((status = 'open') = (closed_at IS NULL))
);
-- One open session an external id; the id is free again once its session has ended.
CREATE UNIQUE INDEX sessions_open_external_id ON sessions (environment_id, external_id)
  WHERE external_id IS NOT NULL AND status = 'open';
CREATE INDEX sessions_external_id ON sessions (environment_id, external_id, id) WHERE external_id IS NOT NULL;
CREATE INDEX sessions_open ON sessions (environment_id, id) WHERE status = 'open';
CREATE INDEX sessions_entrypoint ON sessions (environment_id, entrypoint, id);
CREATE INDEX sessions_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL AND status = 'open';

CREATE TABLE streams (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  name text NOT NULL,
  direction text NOT NULL CHECK (direction IN ('input', 'output')),
  -- Advanced by the appending transaction under this row's lock: records have no gaps.
  last_sequence integer NOT NULL DEFAULT 0,
  -- Of an input stream: how far the session's runs have received it, and how long it was when the present turn began.
  received_sequence integer NOT NULL DEFAULT 0,
  turn_sequence integer NOT NULL DEFAULT 0,
  -- What the session's state means for appends, kept here so that an append locks and reads this row alone:
  -- `open` takes them; `idle`, of an input stream, takes one that starts the next turn; `ended` takes those of a live run.
  gate text NOT NULL CHECK (gate IN ('open', 'idle', 'ended')),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  UNIQUE (environment_id, session_id, name),
  CHECK (received_sequence <= last_sequence),
  CHECK (gate <> 'idle' OR direction = 'input')
) WITH (fillfactor = 70);

CREATE TABLE stream_records (
  environment_id uuid NOT NULL,
  stream_id uuid NOT NULL,
  sequence integer NOT NULL,
  id uuid NOT NULL,
  data text NOT NULL,
  content_type text,
  correlation_id text,
  source_kind text NOT NULL CHECK (source_kind IN ('api', 'public_access_token', 'run', 'schedule')),
  -- As it is shown: a key, a user, a public access token, a run or a schedule.
  source_id text,
  run_id uuid,
  attempt_number integer,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, stream_id, sequence)
);
CREATE INDEX stream_records_correlation_id ON stream_records (environment_id, stream_id, correlation_id, sequence)
  WHERE correlation_id IS NOT NULL;
