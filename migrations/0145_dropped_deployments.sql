-- Deployments that were kept long enough are dropped, and bundles go when no deployment has them.

-- Bundles that nobody may need: they are being uploaded, were uploaded, or a deployment that had them was dropped. What was
-- touched lately stays, because a deployment may be about to name it. Cleared by whoever finds a need.
CREATE TABLE bundle_candidates (
  environment_id uuid NOT NULL REFERENCES environments (id),
  digest bytea NOT NULL,
  touched_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, digest)
);
CREATE INDEX bundle_candidates_touched ON bundle_candidates (touched_at);
CREATE INDEX bundle_candidates_digest ON bundle_candidates (digest);
INSERT INTO bundle_candidates (environment_id, digest, touched_at) SELECT environment_id, digest, now() FROM bundles;

-- The environments share the store of bundles. These bytes are being removed from it, and no environment has them; until
-- the row is gone nobody can upload them.
CREATE TABLE bundle_removals (
  digest bytea PRIMARY KEY,
  -- The last one that had them.
  environment_id uuid NOT NULL REFERENCES environments (id),
  begun_at timestamptz NOT NULL
);

-- Whether a deployment has a bundle.
CREATE INDEX deployments_bundle ON deployments (environment_id, bundle_digest);
