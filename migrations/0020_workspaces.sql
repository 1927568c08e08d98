-- Durable file trees: sandboxes that they are made from, workspaces, and their versions.

-- Gives (environment, declared id) one id for life, whichever deployment declares it. `default` is made when first needed.
CREATE TABLE sandboxes (
  environment_id uuid NOT NULL REFERENCES environments (id),
  id uuid NOT NULL,
  declared_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (environment_id, id),
  UNIQUE (environment_id, declared_id)
);

CREATE TABLE workspaces (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  external_id text,
  -- The sandbox as it was declared when the workspace was made; later declarations do not change it.
  sandbox text NOT NULL,
  sandbox_spec text NOT NULL,
  -- The setup that is still to be run in it: the digest of its commands. Null once its result is committed.
  setup_digest bytea,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'deleting', 'deleted')),
  -- Moved by the transaction that makes a version, under this row's lock. Versions have no other state than being there.
  current_version_id uuid NOT NULL,
  version_count integer NOT NULL,
  -- The newest one, whatever its state.
  materialization_id uuid,
  metadata text,
  tags text[],
  last_activity_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id)
);
-- An external id is free again once its workspace is being deleted.
CREATE UNIQUE INDEX workspaces_external_id ON workspaces (environment_id, external_id)
  WHERE external_id IS NOT NULL AND status = 'active';
CREATE INDEX workspaces_tags ON workspaces USING gin (tags) WHERE tags IS NOT NULL;

CREATE TABLE workspace_versions (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  -- Of another workspace where this one began as its fork; that may have been deleted since.
  parent_version_id uuid,
  cause_kind text NOT NULL CHECK (cause_kind IN ('create', 'exec', 'pty', 'run', 'stop', 'write')),
  cause_id text,
  -- Chosen by the worker: a commit that is sent again finds its version.
  commit_id text,
  -- Of the tree, whatever it is stored in.
  digest bytea NOT NULL,
  -- The blob that lists it.
  manifest_digest bytea NOT NULL,
  file_count integer NOT NULL,
  size_bytes bigint NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  UNIQUE (environment_id, workspace_id, number),
  FOREIGN KEY (environment_id, workspace_id) REFERENCES workspaces (environment_id, id)
);
CREATE UNIQUE INDEX workspace_versions_commit ON workspace_versions (environment_id, workspace_id, commit_id)
  WHERE commit_id IS NOT NULL;

-- What the setup of a sandbox made, for the next workspaces with the same commands. It is a version of the workspace that ran
-- it first, and goes with that workspace: the next one then runs the setup again.
CREATE TABLE sandbox_bases (
  environment_id uuid NOT NULL,
  setup_digest bytea NOT NULL,
  version_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, setup_digest),
  FOREIGN KEY (environment_id, version_id) REFERENCES workspace_versions (environment_id, id) ON DELETE CASCADE
);
CREATE INDEX sandbox_bases_version ON sandbox_bases (environment_id, version_id);
