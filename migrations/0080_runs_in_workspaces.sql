-- Runs that work in a workspace. They are claimed by a path of their own, so that the claim of all others stays as it is:
-- only a worker with room for workspaces may have them, and only where the workspace is, or may come to be.

-- Made when a worker takes the run up first, where the run's task declares a sandbox and its start named no workspace.
ALTER TABLE executions ADD COLUMN workspace_id uuid;
UPDATE executions e SET workspace_id = r.workspace_id
FROM runs r WHERE r.environment_id = e.environment_id AND r.id = e.run_id AND r.workspace_id IS NOT NULL;

DROP INDEX executions_ready;
CREATE INDEX executions_ready ON executions (worker_group_id, environment_id, priority DESC, run_id)
  WHERE ready AND workspace_id IS NULL;
CREATE INDEX executions_ready_in_workspace ON executions (worker_group_id, environment_id, workspace_id, priority DESC, run_id)
  WHERE ready AND workspace_id IS NOT NULL;
-- Whether a workspace is worked in, and in which ones a worker has runs.
CREATE INDEX executions_of_workspace ON executions (environment_id, workspace_id)
  WHERE workspace_id IS NOT NULL AND worker_id IS NOT NULL;
CREATE INDEX executions_workspaces_of_worker ON executions (worker_id, environment_id, workspace_id)
  WHERE workspace_id IS NOT NULL AND worker_id IS NOT NULL;

-- A run's commands in its workspace are outcomes of its journal.
ALTER TABLE run_journal DROP CONSTRAINT run_journal_kind_check;
ALTER TABLE run_journal ADD CONSTRAINT run_journal_kind_check
  CHECK (kind IN ('step', 'value', 'wait', 'token', 'child_run', 'output', 'input', 'exec'));
