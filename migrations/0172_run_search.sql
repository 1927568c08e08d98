-- The words of runs, for searches. All of it is made from the runs by a loop, and can be made again at any time. Nothing that
-- starts, leases or ends a run writes here.
CREATE TABLE run_search (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  -- How words are cut: a row of an older version is made again.
  version smallint NOT NULL,
  -- The words, with the block of the run as a word of its own.
  words tsvector NOT NULL,
  PRIMARY KEY (environment_id, run_id)
);
-- Each search would read a list of pending entries from end to end, once for each block.
CREATE INDEX run_search_words ON run_search USING gin (words) WITH (fastupdate = off);

-- Runs whose words were read while they lived: their end may bring an error and other metadata.
CREATE TABLE run_search_live (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  PRIMARY KEY (environment_id, run_id)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- Runs of an environment in pieces of some thousand, by their ids: a search goes through one after the other, and so reads
-- a bounded part of a word that everybody has. A block ends where the next one begins.
CREATE TABLE run_search_blocks (
  environment_id uuid NOT NULL,
  first_run_id uuid NOT NULL,
  block bigint NOT NULL,
  -- As many as were put into it; some of them may be gone.
  runs integer NOT NULL,
  PRIMARY KEY (environment_id, first_run_id)
) WITH (fillfactor = 70);

-- How far the index of an environment is. Bounds are ids; each is outside of what is before it.
CREATE TABLE run_search_environments (
  environment_id uuid PRIMARY KEY,
  version smallint NOT NULL,
  -- The next block's number.
  next_block bigint NOT NULL DEFAULT 1,
  -- The newest run that has a row.
  newest uuid NOT NULL,
  -- Runs before it were looked at soon after they came.
  fresh_to uuid NOT NULL,
  -- Runs before it were looked at once more, later than any transaction lasts.
  late_to uuid NOT NULL,
  -- Runs from here on have rows of this version.
  whole_from uuid NOT NULL,
  -- Where the sweep over all runs goes on, newest first; null while there is none.
  sweep_before uuid,
  swept_at timestamptz,
  -- The first sweep has ended: before it, blocks are made from the newest to the oldest.
  is_filled boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
