-- Times at which runs start by themselves, and the ledger of those times.

CREATE TABLE schedules (
  environment_id uuid NOT NULL REFERENCES environments (id),
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  -- `declarative` ones follow the promoted deployment and are not changed by callers.
  type text NOT NULL CHECK (type IN ('imperative', 'declarative')),
  deduplication_key text NOT NULL,
  external_id text,
  task text NOT NULL,
  cron text NOT NULL,
  timezone text NOT NULL,
  active boolean NOT NULL,
  -- The run options of the wire, as JSON.
  options text NOT NULL,
  -- The next slot: null while none will come. Whoever fires moves it under this row's lock.
  next_run_at timestamptz,
  -- The newest slot of the ledger. The next one is always later, whatever was changed and whatever a clock says.
  last_slot_at timestamptz,
  -- The newest slot that fired, its run, and when that run was started.
  last_fired_slot_at timestamptz,
  last_run_at timestamptz,
  last_run_id uuid,
  -- Why it cannot start runs at present.
  error_kind text CHECK (error_kind IN ('task_not_found', 'payload_invalid', 'start_refused')),
  error_message text,
  error_at timestamptz,
  -- Of a declarative one that the current deployment no longer declares. The row stays, so that a deployment that
  -- declares it again continues its ledger and fires no slot twice.
  removed_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  UNIQUE (environment_id, deduplication_key),
  CHECK (next_run_at IS NULL OR (active AND removed_at IS NULL)),
  CHECK ((error_kind IS NULL) = (error_message IS NULL) AND (error_kind IS NULL) = (error_at IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX schedules_due ON schedules (next_run_at) WHERE next_run_at IS NOT NULL;
CREATE INDEX schedules_task ON schedules (environment_id, task, id);
CREATE INDEX schedules_external_id ON schedules (environment_id, external_id, id) WHERE external_id IS NOT NULL;

-- Each due time of a schedule, once: what became of it is written in the transaction that starts its run.
CREATE TABLE schedule_occurrences (
  environment_id uuid NOT NULL,
  schedule_id uuid NOT NULL,
  scheduled_at timestamptz NOT NULL,
  status text NOT NULL CHECK (status IN ('fired', 'skipped')),
  run_id uuid,
  reason text,
  message text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, schedule_id, scheduled_at),
  FOREIGN KEY (environment_id, schedule_id) REFERENCES schedules (environment_id, id) ON DELETE CASCADE,
  CHECK ((status = 'fired') = (run_id IS NOT NULL)),
  CHECK ((status = 'skipped') = (reason IS NOT NULL))
);
