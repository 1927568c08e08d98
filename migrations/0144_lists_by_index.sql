-- Lists that were read through: each filter has an index in the order of its list, newest first.

-- Runs of one version of the code.
CREATE INDEX runs_deployment ON runs (environment_id, deployment_id, id);
-- Live runs of one status. Without the queued ones: the newest live runs mostly are, and a start would pay for it.
CREATE INDEX executions_status ON executions (environment_id, status, run_id) WHERE status <> 'queued';

-- Each tag of everything that has tags, in the order of lists. An index of whole arrays has no order: it was read whole for
-- a common tag. Only what has tags writes here; its rows go with it.
CREATE TABLE run_tags (
  environment_id uuid NOT NULL,
  tag text NOT NULL,
  run_id uuid NOT NULL,
  PRIMARY KEY (environment_id, tag, run_id)
);
INSERT INTO run_tags (environment_id, tag, run_id)
SELECT environment_id, unnest(tags), id FROM runs WHERE tags IS NOT NULL
ON CONFLICT DO NOTHING;

CREATE TABLE session_tags (
  environment_id uuid NOT NULL,
  tag text NOT NULL,
  session_id uuid NOT NULL,
  PRIMARY KEY (environment_id, tag, session_id)
);
INSERT INTO session_tags (environment_id, tag, session_id)
SELECT environment_id, unnest(tags), id FROM sessions WHERE tags IS NOT NULL
ON CONFLICT DO NOTHING;

CREATE TABLE token_tags (
  environment_id uuid NOT NULL,
  tag text NOT NULL,
  token_id uuid NOT NULL,
  PRIMARY KEY (environment_id, tag, token_id)
);
INSERT INTO token_tags (environment_id, tag, token_id)
SELECT environment_id, unnest(tags), id FROM tokens WHERE tags IS NOT NULL
ON CONFLICT DO NOTHING;

CREATE TABLE workspace_tags (
  environment_id uuid NOT NULL,
  tag text NOT NULL,
  workspace_id uuid NOT NULL,
  PRIMARY KEY (environment_id, tag, workspace_id)
);
INSERT INTO workspace_tags (environment_id, tag, workspace_id)
SELECT environment_id, unnest(tags), id FROM workspaces WHERE tags IS NOT NULL
ON CONFLICT DO NOTHING;

DROP INDEX runs_tags;
DROP INDEX workspaces_tags;

-- Of the open ones it does what the index of those alone did.
CREATE INDEX sessions_status ON sessions (environment_id, status, id);
DROP INDEX sessions_open;

CREATE INDEX deployments_status ON deployments (environment_id, status, id);
CREATE INDEX schedules_type ON schedules (environment_id, type, id);
-- Also of those that are being deleted, whose external id another one may have.
CREATE INDEX workspaces_of_external_id ON workspaces (environment_id, external_id, id) WHERE external_id IS NOT NULL;
CREATE INDEX workspaces_sandbox ON workspaces (environment_id, sandbox, id);
CREATE INDEX projects_organization ON projects (organization_id, id);
CREATE INDEX environments_project ON environments (project_id, id);
