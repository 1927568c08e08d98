-- A device that asks for a grant of OAuth and not for a session.
ALTER TABLE device_authorizations
  ADD COLUMN oauth_client_id uuid REFERENCES oauth_clients (id) ON DELETE CASCADE,
  ADD COLUMN oauth_access text CHECK (oauth_access IN ('read', 'write')),
  ADD COLUMN oauth_grant_id uuid REFERENCES oauth_grants (id) ON DELETE CASCADE,
  ADD CHECK ((oauth_client_id IS NULL) = (oauth_access IS NULL)),
  -- A server of the last release takes such a device for one of its own: it can neither approve it nor give it a session.
  ADD CHECK (oauth_client_id IS NULL OR status IN ('pending', 'denied') OR (status = 'approved' AND oauth_grant_id IS NOT NULL));
CREATE INDEX device_authorizations_client ON device_authorizations (oauth_client_id) WHERE oauth_client_id IS NOT NULL;
CREATE INDEX device_authorizations_grant ON device_authorizations (oauth_grant_id) WHERE oauth_grant_id IS NOT NULL;
