-- Code: uploaded bundles, immutable deployments, the entrypoints they declare, and the queues of an environment.

CREATE TABLE bundles (
  environment_id uuid NOT NULL REFERENCES environments (id),
  digest bytea NOT NULL,
  size_bytes bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (environment_id, digest)
);
-- A worker asks for a bundle by its digest alone.
CREATE INDEX bundles_digest ON bundles (digest);

CREATE TABLE deployments (
  environment_id uuid NOT NULL REFERENCES environments (id),
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  version text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'ready', 'failed')),
  promoted_at timestamptz,
  api_version text NOT NULL,
  cli_version text,
  sdk_version text,
  client_version text,
  bundle_format_version integer NOT NULL,
  worker_protocol_version integer NOT NULL,
  bundle_digest bytea NOT NULL,
  bundle_size_bytes bigint NOT NULL,
  manifest json NOT NULL,
  git json,
  error json,
  -- The dry boot in progress: only the newest check of a deployment may answer.
  check_id uuid,
  check_worker_id uuid,
  check_expires_at timestamptz,
  check_count integer NOT NULL DEFAULT 0,
  event_sequence integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (environment_id, id),
  UNIQUE (environment_id, version),
  FOREIGN KEY (environment_id, bundle_digest) REFERENCES bundles (environment_id, digest)
);
CREATE INDEX deployments_pending ON deployments (created_at) WHERE status = 'pending';

CREATE TABLE deployment_events (
  environment_id uuid NOT NULL,
  deployment_id uuid NOT NULL,
  sequence integer NOT NULL,
  kind text NOT NULL,
  message text NOT NULL,
  attributes json NOT NULL DEFAULT '{}',
  at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, deployment_id, sequence),
  FOREIGN KEY (environment_id, deployment_id) REFERENCES deployments (environment_id, id)
);

-- Gives (environment, kind, declared id) one id for life, whichever deployment declares it.
CREATE TABLE entrypoints (
  environment_id uuid NOT NULL REFERENCES environments (id),
  id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('task', 'actor')),
  declared_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (environment_id, id),
  UNIQUE (environment_id, kind, declared_id)
);

-- Limits in force. A row exists once a deployment declared the queue or a run used a concurrency key in it;
-- its lock serializes the admission of limited runs.
CREATE TABLE queues (
  environment_id uuid NOT NULL REFERENCES environments (id),
  name text NOT NULL,
  concurrency_limit integer CHECK (concurrency_limit > 0),
  concurrency_key_limit integer NOT NULL DEFAULT 1 CHECK (concurrency_key_limit > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (environment_id, name)
);
