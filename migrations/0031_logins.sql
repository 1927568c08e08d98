-- How people sign in: magic links, device authorizations, accounts elsewhere. Of every secret only the SHA-256 is stored.

ALTER TABLE user_sessions ADD COLUMN method text NOT NULL DEFAULT 'first_start'
  CHECK (method IN ('first_start', 'magic_link', 'device', 'github', 'invitation'));
CREATE INDEX user_sessions_expiry ON user_sessions (expires_at);

-- A row is written for unknown addresses too, so that asking for a link takes as long for them.
CREATE TABLE magic_links (
  digest bytea PRIMARY KEY,
  -- Of what the asking browser keeps: the link alone is not enough.
  nonce_digest bytea NOT NULL,
  email text NOT NULL,
  return_to text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX magic_links_email ON magic_links (lower(email), expires_at);
CREATE INDEX magic_links_expiry ON magic_links (expires_at);

-- RFC 8628. `digest` is of the device code; the user code is typed by a person who is signed in.
CREATE TABLE device_authorizations (
  digest bytea PRIMARY KEY,
  user_code text NOT NULL UNIQUE,
  client_id text,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'denied', 'consumed')),
  user_id uuid REFERENCES users (id),
  -- Grows when the device asks too often.
  interval_seconds integer NOT NULL,
  last_polled_at timestamptz,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK (status = 'pending' OR user_id IS NOT NULL)
);
CREATE INDEX device_authorizations_expiry ON device_authorizations (expires_at);

-- User codes that someone typed and that were none: few are allowed in a time.
CREATE TABLE user_code_failures (
  user_id uuid PRIMARY KEY REFERENCES users (id),
  failures integer NOT NULL,
  window_ends_at timestamptz NOT NULL
);
CREATE INDEX user_code_failures_end ON user_code_failures (window_ends_at);

-- Whom an account elsewhere belongs to. `subject` is the provider's unchanging id, not a name that can be given away.
CREATE TABLE user_identities (
  provider text NOT NULL CHECK (provider IN ('github')),
  subject text NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (provider, subject)
);
CREATE INDEX user_identities_user ON user_identities (user_id);
