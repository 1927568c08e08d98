-- What is left of a deleted workspace is dropped some time after its deletion. Null also of those that a server of the release
-- before deletes: their row has not changed since.
ALTER TABLE workspaces ADD COLUMN deleted_at timestamptz;
CREATE INDEX workspaces_deleted ON workspaces (environment_id, deleted_at) WHERE status = 'deleted';
-- For what hangs on a workspace that goes. The insert of the next one of a workspace asks for the last epoch by it, and read the
-- whole table before.
CREATE INDEX materializations_of_workspace ON materializations (environment_id, workspace_id);
