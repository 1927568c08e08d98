-- Workspaces put on machines. A materialization is leased by one worker at a time; what that worker writes is valid
-- while its epoch is the row's, whatever the clock says.

CREATE TABLE materializations (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  worker_group_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'requested'
    CHECK (status IN ('requested', 'preparing', 'live', 'stopping', 'stopped', 'failed')),
  -- Begins with the last one of the workspace and goes up with each lease.
  epoch integer NOT NULL,
  -- Leases that were lost before it was live.
  lost_count smallint NOT NULL DEFAULT 0,
  required_isolation text NOT NULL CHECK (required_isolation IN ('process', 'namespace')),
  isolation text CHECK (isolation IN ('process', 'namespace')),
  worker_id uuid,
  lease_expires_at timestamptz,
  base_version_id uuid NOT NULL,
  dirty boolean NOT NULL DEFAULT false,
  -- It is to be followed by another one: it was wanted again while it was stopping.
  wanted_again boolean NOT NULL DEFAULT false,
  -- When somebody last did something with it; the idle stop counts from here.
  active_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz,
  error text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  FOREIGN KEY (environment_id, workspace_id) REFERENCES workspaces (environment_id, id),
  CHECK (status NOT IN ('preparing', 'live', 'stopping') OR (worker_id IS NOT NULL AND lease_expires_at IS NOT NULL)),
  CHECK ((status IN ('stopped', 'failed')) = (finished_at IS NOT NULL))
);
CREATE UNIQUE INDEX materializations_live ON materializations (environment_id, workspace_id)
  WHERE status IN ('requested', 'preparing', 'live', 'stopping');
CREATE INDEX materializations_requested ON materializations (worker_group_id, id) WHERE status = 'requested';
CREATE INDEX materializations_held ON materializations (worker_id)
  WHERE status IN ('preparing', 'live', 'stopping');
CREATE INDEX materializations_expiry ON materializations (lease_expires_at)
  WHERE status IN ('preparing', 'live', 'stopping');
CREATE INDEX materializations_idle ON materializations (active_at) WHERE status = 'live';

-- The strongest isolation that works on the worker's machine, as it last said; null while it never asked for workspaces.
ALTER TABLE workers ADD COLUMN isolation text CHECK (isolation IN ('process', 'namespace'));
