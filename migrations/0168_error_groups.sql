-- Failures that are the same. The id is made from what makes them the same, so that it is known without a look.
CREATE TABLE error_groups (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  title text NOT NULL,
  -- Of the first of them.
  message text NOT NULL,
  -- The first frame of the project's own code, without its line.
  frame text,
  status text NOT NULL CHECK (status IN ('open', 'resolved', 'muted')),
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  -- Without the runs that are still to be counted.
  count bigint NOT NULL,
  last_run_id uuid NOT NULL,
  tasks text[] NOT NULL DEFAULT '{}',
  actors text[] NOT NULL DEFAULT '{}',
  resolved_at timestamptz,
  resolved_in_version text,
  reopened_at timestamptz,
  PRIMARY KEY (environment_id, id),
  CHECK (status <> 'resolved' OR resolved_at IS NOT NULL)
) WITH (fillfactor = 70);
CREATE INDEX error_groups_seen ON error_groups (environment_id, last_seen_at, id);
CREATE INDEX error_groups_count ON error_groups (environment_id, count, id);

-- Which runs are of a group. It is the index of the column below, as a table: an index would have to read all results there
-- are while nothing can be written. Rows are only added by the ends of runs, which so never wait for each other; a loop counts
-- them.
CREATE TABLE error_group_runs (
  environment_id uuid NOT NULL,
  error_group_id uuid NOT NULL,
  run_id uuid NOT NULL,
  seen_at timestamptz NOT NULL,
  counted boolean NOT NULL,
  PRIMARY KEY (environment_id, error_group_id, run_id)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX error_group_runs_uncounted ON error_group_runs (environment_id, error_group_id, run_id) WHERE NOT counted;

-- Null of runs that did not fail, and of those that ended before, or on an older server.
ALTER TABLE run_results ADD COLUMN error_group_id uuid;
