-- Logs of ended runs in compressed blobs. Chunks are rows while a run lives and for a while after; then those of runs
-- that said much become packs, a few for a run, each of which lists chunks without a gap.

CREATE TABLE run_log_packs (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  first_sequence integer NOT NULL,
  last_sequence integer NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (environment_id, run_id, first_sequence),
  FOREIGN KEY (environment_id, digest) REFERENCES blobs (environment_id, digest),
  CHECK (last_sequence >= first_sequence)
);
CREATE INDEX run_log_packs_digest ON run_log_packs (environment_id, digest);

-- Only ended runs with logs worth a file are in it.
CREATE INDEX run_results_large_logs ON run_results (finished_at, environment_id, run_id)
  WHERE stdout_bytes + stderr_bytes >= 16384;

-- How far packing has got in that index, and who is at it. One row.
CREATE TABLE log_packing (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  finished_at timestamptz NOT NULL,
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  claim_id uuid,
  claimed_until timestamptz
);
INSERT INTO log_packing (finished_at, environment_id, run_id)
VALUES ('-infinity', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000');
