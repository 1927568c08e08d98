-- Values that tasks need and nobody else may read. A value is encrypted under a data key of its own version, and that
-- under the master key, which is never in the database.

CREATE TABLE secrets (
  environment_id uuid NOT NULL REFERENCES environments (id),
  id uuid NOT NULL,
  project_id uuid NOT NULL,
  name text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'revoked')),
  -- The newest version. Numbers are never used twice, also not after a revocation.
  version integer NOT NULL CHECK (version > 0),
  rotated_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, id),
  UNIQUE (environment_id, name),
  CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
) WITH (fillfactor = 70);

-- Nonce, ciphertext and tag of AES-256-GCM in each column. Environment, secret and version are the associated data, so
-- that a row that was copied elsewhere does not decrypt. A revoked secret has no versions.
CREATE TABLE secret_versions (
  environment_id uuid NOT NULL,
  secret_id uuid NOT NULL,
  version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  ciphertext bytea NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, secret_id, version),
  FOREIGN KEY (environment_id, secret_id) REFERENCES secrets (environment_id, id) ON DELETE CASCADE
);

-- The versions that an attempt was given: it keeps them when it is leased again, whatever was rotated meanwhile.
-- No foreign keys: a pin whose secret is gone is how a worker is told so.
CREATE TABLE secret_pins (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  attempt_number integer NOT NULL,
  name text NOT NULL,
  secret_id uuid NOT NULL,
  version integer NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, run_id, attempt_number, name)
);
CREATE INDEX secret_pins_version ON secret_pins (environment_id, secret_id, version);
