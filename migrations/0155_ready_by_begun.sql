-- Runs that have begun before (resumed, retried, taken back) and runs that have not are found apart, so that a claim can
-- give each of them a share. `least` and no comparison: the planner would rewrite one before it looks for an index.
DROP INDEX executions_ready;
CREATE INDEX executions_ready ON executions (worker_group_id, environment_id, (least(attempt_number, 1)), priority DESC, run_id)
  WHERE ready AND workspace_id IS NULL AND required_isolation IS NULL;
DROP INDEX executions_ready_isolated;
CREATE INDEX executions_ready_isolated ON executions (worker_group_id, environment_id, (least(attempt_number, 1)), priority DESC, run_id)
  WHERE ready AND workspace_id IS NULL AND required_isolation IS NOT NULL;
