-- Commands and terminals in workspaces. `kind` says whether a row is an exec or a PTY; the output of a PTY is one stream.

CREATE TABLE processes (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('exec', 'pty')),
  status text NOT NULL DEFAULT 'pending',
  -- Where it was started; null while it waits for its workspace to be live.
  materialization_id uuid,
  -- JSON: argv, null for the login shell.
  command text,
  cwd text NOT NULL,
  env_names text[] NOT NULL,
  -- JSON; forgotten when the process ends, because values may be private.
  env text,
  timeout_ms bigint,
  cols smallint,
  rows smallint,
  -- Input is kept until the worker has taken it.
  input_bytes bigint NOT NULL DEFAULT 0,
  input_taken bigint NOT NULL DEFAULT 0,
  input_closed boolean NOT NULL DEFAULT false,
  control_sequence integer NOT NULL DEFAULT 0,
  -- Of a PTY the first pair is its output. `_first`: older bytes are no longer kept.
  stdout_bytes bigint NOT NULL DEFAULT 0,
  stdout_first bigint NOT NULL DEFAULT 0,
  stderr_bytes bigint NOT NULL DEFAULT 0,
  stderr_first bigint NOT NULL DEFAULT 0,
  exit_code smallint,
  signal text,
  timed_out boolean NOT NULL DEFAULT false,
  error text,
  version_id uuid,
  started_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  FOREIGN KEY (environment_id, workspace_id) REFERENCES workspaces (environment_id, id),
  CHECK (status IN ('pending', 'running', 'exited', 'lost')
    OR (kind = 'exec' AND status IN ('failed', 'cancelled')) OR (kind = 'pty' AND status = 'closed')),
  CHECK ((status IN ('pending', 'running')) = (finished_at IS NULL)),
  CHECK (exit_code IS NULL OR signal IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX processes_workspace ON processes (environment_id, workspace_id, kind, id);
CREATE INDEX processes_active ON processes (environment_id, workspace_id) WHERE status IN ('pending', 'running');

CREATE TABLE process_inputs (
  environment_id uuid NOT NULL,
  process_id uuid NOT NULL,
  -- Bytes before these.
  position bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (environment_id, process_id, position)
);

CREATE TABLE process_controls (
  environment_id uuid NOT NULL,
  process_id uuid NOT NULL,
  sequence integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('signal', 'resize', 'close')),
  signal text,
  cols smallint,
  rows smallint,
  PRIMARY KEY (environment_id, process_id, sequence)
);

CREATE TABLE process_outputs (
  environment_id uuid NOT NULL,
  process_id uuid NOT NULL,
  stream text NOT NULL CHECK (stream IN ('stdout', 'stderr')),
  position bigint NOT NULL,
  data bytea NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, process_id, stream, position)
);
