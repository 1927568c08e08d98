-- Bulk actions: one cancellation or replay of many runs, with a ledger of what was done with each.
-- `run_filter` is a RunFilter as JSON; `run_ids` are given instead of it. Runs are gone through newest first, and those at
-- `next_before` and after it are done. A row of the ledger is written in the transaction that cancels or starts its run.

CREATE TABLE bulk_actions (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  action text NOT NULL CHECK (action IN ('cancel', 'replay')),
  status text NOT NULL CHECK (status IN ('running', 'completed', 'cancelled')),
  run_filter text,
  run_ids uuid[],
  deployment_version text,
  reason text,
  matched integer NOT NULL,
  more_matched boolean NOT NULL,
  done integer NOT NULL DEFAULT 0,
  skipped integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  next_before uuid,
  next_batch_at timestamptz NOT NULL,
  created_by_kind text NOT NULL CHECK (created_by_kind IN ('api_key', 'user', 'run')),
  created_by_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  ended_at timestamptz,
  PRIMARY KEY (environment_id, id),
  FOREIGN KEY (environment_id) REFERENCES environments (id),
  CHECK ((run_filter IS NULL) <> (run_ids IS NULL)),
  CHECK ((status = 'running') = (ended_at IS NULL))
);
CREATE INDEX bulk_actions_running ON bulk_actions (next_batch_at) WHERE status = 'running';

CREATE TABLE bulk_action_items (
  environment_id uuid NOT NULL,
  bulk_action_id uuid NOT NULL,
  run_id uuid NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('cancelled', 'already_ended', 'replayed', 'not_ended', 'failed')),
  new_run_id uuid,
  error_code text,
  error_message text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, bulk_action_id, run_id),
  FOREIGN KEY (environment_id, bulk_action_id) REFERENCES bulk_actions (environment_id, id),
  CHECK ((outcome = 'replayed') = (new_run_id IS NOT NULL)),
  CHECK ((outcome = 'failed') = (error_code IS NOT NULL)),
  CHECK ((error_code IS NULL) = (error_message IS NULL))
);
