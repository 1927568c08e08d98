-- How an environment was: the greatest and the last sample of each minute or hour. There is no row for a time in which nothing
-- was queued, running or waiting.
CREATE TABLE run_gauges (
  environment_id uuid NOT NULL,
  minutes smallint NOT NULL CHECK (minutes IN (1, 60)),
  at timestamptz NOT NULL,
  sampled_at timestamptz NOT NULL,
  queued_max bigint NOT NULL,
  queued_last bigint NOT NULL,
  oldest_queued_ms_max bigint NOT NULL,
  oldest_queued_ms_last bigint NOT NULL,
  waiting_max bigint NOT NULL,
  waiting_last bigint NOT NULL,
  pending_tokens_max bigint NOT NULL,
  pending_tokens_last bigint NOT NULL,
  -- Of the workers of the environment's group, which may work for other environments too.
  slots_max bigint NOT NULL,
  slots_last bigint NOT NULL,
  slots_used_max bigint NOT NULL,
  slots_used_last bigint NOT NULL,
  PRIMARY KEY (environment_id, minutes, at)
) WITH (fillfactor = 70);

-- When the newest sample was taken: one row, whose lock decides which server samples.
CREATE TABLE run_gauge_progress (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  sampled_at timestamptz NOT NULL
);
INSERT INTO run_gauge_progress (sampled_at) VALUES ('epoch');
