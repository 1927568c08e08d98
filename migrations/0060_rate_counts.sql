-- How often somebody called in a window of time, over all servers. Not logged: after a crash of PostgreSQL counting
-- begins anew, and no request waits for the disk.

CREATE UNLOGGED TABLE rate_counts (
  -- A policy and whom it counts: a credential's id or an address.
  name text NOT NULL,
  ends_at timestamptz NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (name, ends_at)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);
CREATE INDEX rate_counts_ended ON rate_counts (ends_at);
