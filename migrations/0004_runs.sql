-- A run is three rows: what was asked (`runs`, never updated), its live state (`executions`, narrow and updated often,
-- gone at the end) and how it ended (`run_results`, never updated). History therefore makes no dead rows and live work
-- stays in a small table whatever the history weighs. Hot tables have no foreign keys: the inserting statement joins
-- the parent, and a key-share lock on one shared parent row would be contended by every start.

CREATE TABLE runs (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  entrypoint_kind text NOT NULL CHECK (entrypoint_kind IN ('task', 'actor')),
  entrypoint text NOT NULL,
  deployment_id uuid NOT NULL,
  deployment_version text NOT NULL,
  -- User JSON stays text: jsonb would rewrite numbers and refuse some strings.
  payload text,
  metadata text,
  tags text[],
  queue text NOT NULL,
  concurrency_key text,
  priority smallint NOT NULL,
  -- The policy in force, as resolved at the start: attempts, delays in ms, factor, jitter.
  retry text NOT NULL,
  max_duration_ms bigint,
  start_at timestamptz,
  expires_at timestamptz,
  session_id uuid,
  turn integer,
  workspace_id uuid,
  schedule_id uuid,
  parent_run_id uuid,
  client_version text,
  cli_version text,
  sdk_version text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id)
);
CREATE INDEX runs_entrypoint ON runs (environment_id, entrypoint, id);
CREATE INDEX runs_tags ON runs USING gin (tags) WHERE tags IS NOT NULL;
CREATE INDEX runs_session ON runs (environment_id, session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX runs_schedule ON runs (environment_id, schedule_id, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_parent ON runs (environment_id, parent_run_id, id) WHERE parent_run_id IS NOT NULL;

CREATE TABLE executions (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  worker_group_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'retry_delayed', 'cancel_requested')),
  -- Whether a worker may take it now. A queued run is not ready while its time has not come or its queue is full.
  ready boolean NOT NULL,
  priority smallint NOT NULL,
  queue text NOT NULL,
  concurrency_key text,
  -- A limited run holds a slot of its queue from its admission until it ends or waits.
  limited boolean NOT NULL,
  admitted boolean NOT NULL,
  available_at timestamptz,
  expires_at timestamptz,
  attempt_number integer NOT NULL DEFAULT 0,
  -- The leased attempt has begun: from here on a lost lease costs an attempt.
  attempt_started_at timestamptz,
  started_at timestamptz,
  deadline_at timestamptz,
  max_duration_ms bigint,
  epoch integer NOT NULL DEFAULT 0,
  lease_id uuid,
  worker_id uuid,
  lease_expires_at timestamptz,
  -- How many of the lease's operations have been applied.
  applied_sequence integer NOT NULL DEFAULT 0,
  -- The last lease was lost and nobody has taken the run since.
  recovering boolean NOT NULL DEFAULT false,
  cancel_requested_at timestamptz,
  event_sequence integer NOT NULL,
  log_sequence integer NOT NULL DEFAULT 0,
  stdout_bytes bigint NOT NULL DEFAULT 0,
  stderr_bytes bigint NOT NULL DEFAULT 0,
  metadata text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, run_id),
  CHECK (worker_id IS NULL OR (lease_id IS NOT NULL AND lease_expires_at IS NOT NULL)),
  CHECK (NOT ready OR (status = 'queued' AND worker_id IS NULL AND available_at IS NULL)),
  CHECK (status <> 'running' OR worker_id IS NOT NULL)
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
-- The claim: each environment in turn, highest priority first, oldest first.
CREATE INDEX executions_ready ON executions (worker_group_id, environment_id, priority DESC, run_id) WHERE ready;
CREATE INDEX executions_leased ON executions (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX executions_due ON executions (available_at) WHERE available_at IS NOT NULL;
CREATE INDEX executions_expiry ON executions (expires_at) WHERE expires_at IS NOT NULL;
-- Only rows of limited queues are in these: who holds a slot, who is next in the queue, who is next of a key.
CREATE INDEX executions_admitted ON executions (environment_id, queue, concurrency_key) WHERE limited AND admitted;
CREATE INDEX executions_next ON executions (environment_id, queue, priority DESC, run_id)
  WHERE limited AND NOT admitted AND status = 'queued' AND available_at IS NULL;
CREATE INDEX executions_next_of_key ON executions (environment_id, queue, concurrency_key, priority DESC, run_id)
  WHERE limited AND NOT admitted AND status = 'queued' AND available_at IS NULL;

CREATE TABLE run_results (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('succeeded', 'failed', 'cancelled', 'expired', 'system_failed')),
  attempt_number integer,
  output text,
  failure text,
  metadata text,
  started_at timestamptz,
  finished_at timestamptz NOT NULL,
  -- The lease that ended it and how far it had been applied: a repeated report is recognised after the end.
  lease_id uuid,
  epoch integer NOT NULL,
  applied_sequence integer NOT NULL,
  log_sequence integer NOT NULL,
  stdout_bytes bigint NOT NULL,
  stderr_bytes bigint NOT NULL,
  event_sequence integer NOT NULL,
  PRIMARY KEY (environment_id, run_id)
);
-- Lists by ending; nearly all runs succeed, and those are found by the primary key.
CREATE INDEX run_results_status ON run_results (environment_id, status, run_id) WHERE status <> 'succeeded';

-- One row holds all events that one transaction wrote for a run: `sequence` is the first, `events` a JSON array.
CREATE TABLE run_events (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  sequence integer NOT NULL,
  last_sequence integer NOT NULL,
  events text NOT NULL,
  PRIMARY KEY (environment_id, run_id, sequence)
);

CREATE TABLE run_logs (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  sequence integer NOT NULL,
  attempt_number integer NOT NULL,
  stream text NOT NULL CHECK (stream IN ('stdout', 'stderr')),
  data bytea NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, run_id, sequence)
);

-- Runs by status, kept in shards so that concurrent transactions do not queue for one row.
CREATE TABLE run_counts (
  environment_id uuid NOT NULL,
  status text NOT NULL,
  shard smallint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (environment_id, status, shard)
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);
