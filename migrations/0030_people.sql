-- What people do to each other and to keys: invitations, who made a key and when it was last used, changes of a role.

ALTER TABLE members ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX members_user ON members (user_id, organization_id);

-- `created_by` is null for the keys of a first start. No foreign key: a key outlives whoever made it.
ALTER TABLE api_keys ADD COLUMN created_by uuid;
-- To the minute: noted in memory and written by a loop, never by the request that used the key.
ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz;
CREATE INDEX api_keys_environment ON api_keys (environment_id, id);

-- That an open one has run out is not stored: it is how it looks after `expires_at`.
CREATE TABLE invitations (
  digest bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  organization_id uuid NOT NULL REFERENCES organizations (id),
  email text NOT NULL,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'viewer')),
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'revoked')),
  invited_by uuid,
  accepted_by uuid,
  accepted_at timestamptz,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CHECK ((status = 'accepted') = (accepted_at IS NOT NULL))
);
CREATE INDEX invitations_organization ON invitations (organization_id, id);
-- An address has one open invitation of an organization: a new one replaces it.
CREATE UNIQUE INDEX invitations_open ON invitations (organization_id, lower(email)) WHERE status = 'open';
CREATE INDEX invitations_email ON invitations (lower(email)) WHERE status = 'open';
