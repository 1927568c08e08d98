-- What `run_counts` said at the beginning of a minute, since the first run: two of them tell what happened between. A loop
-- writes them, so that a run pays nothing for what an overview draws. An environment in which nothing happened gets none,
-- and the newest one holds until the next.
CREATE TABLE run_count_samples (
  environment_id uuid NOT NULL,
  at timestamptz NOT NULL,
  created bigint NOT NULL,
  succeeded bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  expired bigint NOT NULL,
  system_failed bigint NOT NULL,
  PRIMARY KEY (environment_id, at)
);

-- What came before is not this minute's doing.
INSERT INTO run_count_samples (environment_id, at, created, succeeded, failed, cancelled, expired, system_failed)
SELECT environment_id, date_trunc('minute', now()), sum(count),
  coalesce(sum(count) FILTER (WHERE status = 'succeeded'), 0), coalesce(sum(count) FILTER (WHERE status = 'failed'), 0),
  coalesce(sum(count) FILTER (WHERE status = 'cancelled'), 0), coalesce(sum(count) FILTER (WHERE status = 'expired'), 0),
  coalesce(sum(count) FILTER (WHERE status = 'system_failed'), 0)
FROM run_counts GROUP BY environment_id;

-- From here on runs that are dropped are taken off in shard -1: the others only tell what has happened.
