-- Completion tokens, which a person or a provider completes once, and public access tokens, with which a browser uses one
-- stream. Their secrets are made from the master key and the id; only digests are stored.

CREATE TABLE tokens (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'completed', 'cancelled', 'expired')),
  -- The completion as JSON text, and the SHA-256 of its canonical form (RFC 8785), by which completions are compared.
  data text,
  data_digest bytea,
  timeout_at timestamptz NOT NULL,
  metadata text,
  tags text[],
  run_id uuid,
  public_digest bytea NOT NULL,
  callback_digest bytea NOT NULL,
  completed_at timestamptz,
  completed_by_kind text CHECK (completed_by_kind IN ('api_key', 'user', 'public', 'callback')),
  completed_by_id uuid,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
  CHECK ((data_digest IS NULL) = (completed_at IS NULL))
);
-- The routes of browsers and providers know no environment.
CREATE UNIQUE INDEX tokens_id ON tokens (id);
-- A browser is known by its token alone.
CREATE UNIQUE INDEX tokens_public ON tokens (public_digest);
CREATE INDEX tokens_status ON tokens (environment_id, status, id);
CREATE INDEX tokens_run ON tokens (environment_id, run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX tokens_timeout ON tokens (timeout_at) WHERE status = 'pending';

CREATE TABLE public_access_tokens (
  digest bytea PRIMARY KEY,
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  permission text NOT NULL CHECK (permission IN ('session.input.send', 'session.output.read')),
  session_id uuid NOT NULL,
  stream_id uuid NOT NULL,
  correlation_id text,
  expires_at timestamptz NOT NULL,
  max_uses integer CHECK (max_uses > 0),
  uses integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  UNIQUE (environment_id, id),
  CHECK (max_uses IS NULL OR uses <= max_uses)
);
CREATE INDEX public_access_tokens_expiry ON public_access_tokens (expires_at);
