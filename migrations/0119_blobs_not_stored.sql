-- Announced blobs, and those that were found to be missing: a commit asks whether one that its workspace needs is among them.
CREATE INDEX blobs_not_stored ON blobs (environment_id, digest) WHERE size_bytes IS NULL;
