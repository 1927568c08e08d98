-- Which stored bytes an environment has, and which workspaces need them. Each environment stores its own, so that
-- knowing a digest gives nobody another's bytes and removing them asks nobody else.

CREATE TABLE blobs (
  environment_id uuid NOT NULL,
  digest bytea NOT NULL,
  -- Null while the bytes are on their way.
  size_bytes bigint,
  -- The last upload, or the removal of the last workspace that needed it. What was touched lately is never removed: it
  -- may be about to be named by a version.
  touched_at timestamptz NOT NULL,
  -- Nobody may need it: it was uploaded, or a workspace that needed it was deleted. Cleared by whoever finds a need.
  candidate boolean NOT NULL DEFAULT true,
  -- The bytes are being removed; until the row is gone the digest cannot be uploaded.
  removing_since timestamptz,
  PRIMARY KEY (environment_id, digest)
);
CREATE INDEX blobs_candidates ON blobs (touched_at) WHERE candidate;

-- Versions stay as long as their workspace, so a workspace names what all of them need, once each.
CREATE TABLE workspace_blobs (
  environment_id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (environment_id, workspace_id, digest),
  FOREIGN KEY (environment_id, workspace_id) REFERENCES workspaces (environment_id, id),
  FOREIGN KEY (environment_id, digest) REFERENCES blobs (environment_id, digest)
);
CREATE INDEX workspace_blobs_digest ON workspace_blobs (environment_id, digest);
