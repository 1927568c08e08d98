-- Old versions of workspaces are dropped, but for those that a fork began as. A fork says so in its first version.
CREATE INDEX workspace_versions_forks ON workspace_versions (environment_id, parent_version_id)
  WHERE number = 1 AND parent_version_id IS NOT NULL;
