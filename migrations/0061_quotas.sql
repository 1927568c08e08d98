-- What an environment may have at once, and what it has as far as no other table says so.

-- Null: what the server has by default; 0: unlimited. Without a row all are the default's.
CREATE TABLE environment_quotas (
  environment_id uuid PRIMARY KEY REFERENCES environments (id),
  live_runs integer CHECK (live_runs >= 0),
  event_streams integer CHECK (event_streams >= 0),
  stored_bytes bigint CHECK (stored_bytes >= 0),
  updated_at timestamptz NOT NULL
);

-- Bytes of stream records and run logs: added up by each server in memory and written once a second, so that appends
-- have no counter to queue for. Blobs and bundles say their own size.
CREATE TABLE stored_bytes (
  environment_id uuid PRIMARY KEY,
  bytes bigint NOT NULL
) WITH (fillfactor = 50);

-- Open event streams by server. Not logged: they end with their server. A row that was not seen lately is of a dead one.
CREATE UNLOGGED TABLE event_stream_counts (
  environment_id uuid NOT NULL,
  server_id uuid NOT NULL,
  count integer NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, server_id)
) WITH (fillfactor = 50);
