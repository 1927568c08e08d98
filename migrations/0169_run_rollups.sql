-- Ended runs are counted in the background, so that the end of a run writes no row more than before. Each result gets a number when
-- it is inserted. A transaction takes its numbers after it has its transaction id: so when all transactions with ids before some
-- id are over, no result can appear any more whose number was given out before that id was.
CREATE SEQUENCE run_end_numbers AS bigint;

-- Null of runs that ended before this migration. The default is set after the column is added, so that no row is rewritten.
ALTER TABLE run_results ADD COLUMN end_number bigint;
ALTER TABLE run_results ALTER COLUMN end_number
  SET DEFAULT CASE WHEN pg_current_xact_id() IS NOT NULL THEN nextval('run_end_numbers') END;

-- How far the counting is: one row.
CREATE TABLE run_rollup_progress (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- All results with this number or a lower one are counted, but for those in uncounted_runs.
  counted_number bigint NOT NULL,
  -- Results without a number are counted in the order of their keys, up to this one.
  filled_environment_id uuid NOT NULL,
  filled_run_id uuid NOT NULL,
  filled boolean NOT NULL
);
INSERT INTO run_rollup_progress (counted_number, filled_environment_id, filled_run_id, filled)
SELECT 0, '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', NOT EXISTS (SELECT FROM run_results);

-- Ended runs that could not be counted. They are set aside, so that those after them are counted.
CREATE TABLE uncounted_runs (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  PRIMARY KEY (environment_id, run_id)
);

-- Runs by when they ended: one row for each minute or hour and entrypoint, and one for all entrypoints together.
CREATE TABLE run_rollups (
  environment_id uuid NOT NULL,
  minutes smallint NOT NULL CHECK (minutes IN (1, 60)),
  entrypoint_kind text NOT NULL CHECK (entrypoint_kind IN ('all', 'task', 'actor')),
  -- Empty for all.
  entrypoint text NOT NULL,
  at timestamptz NOT NULL,
  succeeded bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  expired bigint NOT NULL,
  system_failed bigint NOT NULL,
  -- Histograms: pairs of numbers of variable length, a bucket and its count. See core/histogram.ts.
  queue_times bytea NOT NULL,
  durations bytea NOT NULL,
  PRIMARY KEY (environment_id, minutes, entrypoint_kind, entrypoint, at)
) WITH (fillfactor = 70);
