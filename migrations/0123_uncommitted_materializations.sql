-- A worker that could not commit keeps the files: a state of its own, which no silence ends.

ALTER TABLE materializations
  -- Its worker has said once that it keeps files that it could not commit.
  ADD COLUMN kept boolean NOT NULL DEFAULT false,
  -- When somebody said that those files are not wanted.
  ADD COLUMN discarded_at timestamptz;

ALTER TABLE materializations DROP CONSTRAINT materializations_status_check;
ALTER TABLE materializations ADD CONSTRAINT materializations_status_check
  CHECK (status IN ('requested', 'preparing', 'live', 'stopping', 'uncommitted', 'stopped', 'failed'));

-- Files that are held are said to be, by whom and why.
ALTER TABLE materializations ADD CONSTRAINT materializations_uncommitted_check
  CHECK (status <> 'uncommitted' OR (kept AND dirty AND error IS NOT NULL AND worker_id IS NOT NULL));
-- Only what was kept can be given up.
ALTER TABLE materializations ADD CONSTRAINT materializations_discarded_check
  CHECK (discarded_at IS NULL OR (kept AND status = 'stopped'));

-- At most one of a workspace has, or may get, files of its own.
DROP INDEX materializations_live;
CREATE UNIQUE INDEX materializations_live ON materializations (environment_id, workspace_id)
  WHERE status IN ('requested', 'preparing', 'live', 'stopping', 'uncommitted');
DROP INDEX materializations_held;
CREATE INDEX materializations_held ON materializations (worker_id)
  WHERE status IN ('preparing', 'live', 'stopping', 'uncommitted');
