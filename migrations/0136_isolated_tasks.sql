-- Runs of tasks that need the namespace tier. As runs in workspaces they are claimed by a path of their own, so that the
-- claim of all others stays as it is and no backlog of theirs is walked by it.

-- What a worker must have for its tasks; null is what every worker has.
ALTER TABLE executions ADD COLUMN required_isolation text CHECK (required_isolation = 'namespace');

DROP INDEX executions_ready;
CREATE INDEX executions_ready ON executions (worker_group_id, environment_id, priority DESC, run_id)
  WHERE ready AND workspace_id IS NULL AND required_isolation IS NULL;
CREATE INDEX executions_ready_isolated ON executions (worker_group_id, environment_id, priority DESC, run_id)
  WHERE ready AND workspace_id IS NULL AND required_isolation IS NOT NULL;

-- The strongest tier in which the worker runs tasks, as it said when it last registered, and why it is not more. Null for an
-- agent that knows nothing of tiers for tasks: its tier for workspaces says nothing of its tasks.
ALTER TABLE workers
  ADD COLUMN task_isolation text CHECK (task_isolation IN ('process', 'namespace')),
  ADD COLUMN task_isolation_problem text;
