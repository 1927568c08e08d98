-- Workspaces that are made for a run are deleted when nobody has used them for long. The run is named as long as nobody has made
-- the workspace theirs, by a change of it or by a start in it; of those that are there already nobody knows.
ALTER TABLE workspaces ADD COLUMN made_for_run_id uuid;
-- By key, and not by when they were used last: that changes with each use, and each would pay for it.
CREATE INDEX workspaces_made_for_runs ON workspaces (environment_id, id)
  WHERE made_for_run_id IS NOT NULL AND status = 'active';
-- Whether a run or a session needs a workspace, wherever the run is. None of these columns ever changes.
CREATE INDEX executions_in_workspaces ON executions (environment_id, workspace_id) WHERE workspace_id IS NOT NULL;
CREATE INDEX sessions_of_workspace ON sessions (environment_id, workspace_id) WHERE workspace_id IS NOT NULL;
