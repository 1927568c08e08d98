-- Who there is: organizations, their projects and environments, people, and every kind of credential.
-- A credential is never stored; `digest` is its SHA-256.

CREATE TABLE worker_groups (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  slug text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE projects (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  name text NOT NULL,
  slug text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, slug)
);

CREATE TABLE environments (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id),
  name text NOT NULL,
  slug text NOT NULL,
  worker_group_id uuid NOT NULL REFERENCES worker_groups (id),
  -- The deployment that starts use; no foreign key, the promotion checks it under this row's lock.
  current_deployment_id uuid,
  deployment_count integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, slug)
);

CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text NOT NULL,
  name text,
  is_admin boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TABLE members (
  organization_id uuid NOT NULL REFERENCES organizations (id),
  user_id uuid NOT NULL REFERENCES users (id),
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'viewer')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, user_id)
);

CREATE TABLE user_sessions (
  digest bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  user_id uuid NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);

CREATE TABLE api_keys (
  digest bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  environment_id uuid NOT NULL REFERENCES environments (id),
  name text NOT NULL,
  permissions text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz
);

-- Keys of the operator: `admin` for /admin/api/v1, `capacity` for /capacity/v1.
CREATE TABLE service_keys (
  digest bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  kind text NOT NULL CHECK (kind IN ('admin', 'capacity')),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz
);

CREATE TABLE enrollment_tokens (
  digest bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  worker_group_id uuid NOT NULL REFERENCES worker_groups (id),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
