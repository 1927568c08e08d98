-- Clients that people connect by OAuth. Of codes and tokens only the SHA-256 is stored.

-- Whoever asks may register, so a registration is worth nothing and shows only what it says of itself.
CREATE TABLE oauth_clients (
  id uuid PRIMARY KEY,
  name text,
  redirect_uris text[] NOT NULL,
  created_at timestamptz NOT NULL,
  -- Dropped after this, if it has no grants then.
  kept_until timestamptz NOT NULL
);
CREATE INDEX oauth_clients_kept ON oauth_clients (kept_until);

-- What a person lets a client do in an environment. What the person may do there is looked up with each use.
CREATE TABLE oauth_grants (
  id uuid PRIMARY KEY,
  client_id uuid NOT NULL REFERENCES oauth_clients (id),
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  environment_id uuid NOT NULL,
  access text NOT NULL CHECK (access IN ('read', 'write')),
  -- Of a grant that began in a browser.
  code_digest bytea UNIQUE,
  code_challenge text,
  redirect_uri text,
  -- Each refresh begins the next generation of tokens. 0: the client has not come for its first ones.
  generation integer NOT NULL DEFAULT 0 CHECK (generation >= 0),
  -- The newest generation of which an access token was used.
  used_generation integer NOT NULL DEFAULT 0 CHECK (used_generation BETWEEN 0 AND generation),
  generation_began_at timestamptz,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz,
  -- Later with each refresh.
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  CHECK ((code_digest IS NULL) = (code_challenge IS NULL) AND (code_digest IS NULL) = (redirect_uri IS NULL)),
  CHECK ((generation = 0) = (generation_began_at IS NULL))
);
CREATE INDEX oauth_grants_user ON oauth_grants (user_id, id) WHERE revoked_at IS NULL;
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at);

-- Refresh tokens that were used stay until they would have expired: whoever comes with one of them again has stolen it, or was stolen from.
CREATE TABLE oauth_tokens (
  digest bytea PRIMARY KEY,
  grant_id uuid NOT NULL REFERENCES oauth_grants (id) ON DELETE CASCADE,
  kind text NOT NULL CHECK (kind IN ('access', 'refresh')),
  generation integer NOT NULL CHECK (generation > 0),
  expires_at timestamptz NOT NULL,
  UNIQUE (grant_id, kind, generation)
);
CREATE INDEX oauth_tokens_expiry ON oauth_tokens (expires_at);
