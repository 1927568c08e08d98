-- Bundles of format 2 are archives: an index, and the files that it names. Each is stored as a bundle is, under its digest.

-- The files of the archive whose index has the digest `bundle_digest`: none of them goes while a deployment has the archive.
CREATE TABLE bundle_files (
  environment_id uuid NOT NULL,
  bundle_digest bytea NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (environment_id, bundle_digest, digest),
  FOREIGN KEY (environment_id, bundle_digest) REFERENCES bundles (environment_id, digest),
  FOREIGN KEY (environment_id, digest) REFERENCES bundles (environment_id, digest)
);
CREATE INDEX bundle_files_digest ON bundle_files (environment_id, digest);

ALTER TABLE deployments
  -- Of the Node.js that made it; null for bundles of format 1, which do not say.
  ADD COLUMN node_version text,
  -- {os, arch, libc}: where its native code runs; null when it has none.
  ADD COLUMN platform json,
  ADD CONSTRAINT deployments_archive CHECK (bundle_format_version > 1 OR (node_version IS NULL AND platform IS NULL));
