-- Old records of output streams in compressed rows: a pack has some hundred of them that follow each other. What is in a pack
-- is in no row of stream_records, and the last record of a stream is always a row there.
CREATE TABLE record_packs (
  environment_id uuid NOT NULL,
  stream_id uuid NOT NULL,
  first_sequence integer NOT NULL,
  last_sequence integer NOT NULL,
  -- Of its records, each once.
  correlation_ids text[] NOT NULL,
  -- Of the data of its records, as quotas count them.
  counted_bytes integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (environment_id, stream_id, first_sequence),
  CHECK (last_sequence >= first_sequence)
);
-- It is compressed already.
ALTER TABLE record_packs ALTER COLUMN data SET STORAGE EXTERNAL;

-- Records up to this one are in packs, or no longer kept.
ALTER TABLE streams ADD COLUMN packed_sequence integer NOT NULL DEFAULT 0;

-- From when on records are packed. A server of the release before reads rows alone: it has a day to be upgraded. One row.
CREATE TABLE record_packing (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  begins_at timestamptz NOT NULL
);
INSERT INTO record_packing (begins_at)
SELECT now() + CASE WHEN EXISTS (SELECT FROM stream_records) THEN interval '1 day' ELSE interval '0' END;
