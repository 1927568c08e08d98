-- Indexes that servers build beside their work, without holding up writes: on a table that may be large, a migration would hold
-- them up for as long as it reads the table. A migration inserts a row; on a new database the index is made at once.
CREATE TABLE index_builds (
  name text PRIMARY KEY,
  -- What follows the name in CREATE INDEX, such as `ON processes (environment_id, id)`.
  definition text NOT NULL,
  -- The index that goes when this one is there.
  replaces text,
  created_at timestamptz NOT NULL DEFAULT now(),
  built_at timestamptz
);

-- The storage quota adds up the blobs of an environment while it uploads, and the metrics those of all.
INSERT INTO index_builds (name, definition) VALUES ('blobs_sizes', 'ON blobs (environment_id) INCLUDE (size_bytes)');
