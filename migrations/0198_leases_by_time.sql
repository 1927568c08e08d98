-- Leases of a worker in the order of time, in which their ids are, and active processes of a workspace in the order of theirs: while
-- dead rows cannot be removed, a look for those that live begins where the older ones are known.
DROP INDEX executions_leased;
CREATE INDEX executions_leased ON executions (worker_id, lease_id) WHERE worker_id IS NOT NULL;
DROP INDEX executions_workspaces_of_worker;
CREATE INDEX executions_workspaces_of_worker ON executions (worker_id, lease_id)
  WHERE workspace_id IS NOT NULL AND worker_id IS NOT NULL;
DROP INDEX processes_active;
CREATE INDEX processes_active ON processes (environment_id, workspace_id, id) WHERE status IN ('pending', 'running');
