-- The state of a schedule is one column. It was a boolean, the absence of an error and the absence of a time of removal.

ALTER TABLE schedules ADD COLUMN status text;
UPDATE schedules SET status = CASE
  WHEN removed_at IS NOT NULL THEN 'removed'
  WHEN NOT active THEN 'inactive'
  WHEN error_kind IS NOT NULL THEN 'errored'
  ELSE 'active' END;
ALTER TABLE schedules
  ALTER COLUMN status SET NOT NULL,
  ADD CHECK (status IN ('active', 'inactive', 'errored', 'removed')),
  -- An inactive or removed one keeps what its last start was refused with.
  ADD CHECK (status <> 'active' OR error_kind IS NULL),
  ADD CHECK (status <> 'errored' OR error_kind IS NOT NULL),
  -- With the constraint that has both.
  DROP COLUMN active,
  DROP COLUMN removed_at,
  ADD CHECK (next_run_at IS NULL OR status IN ('active', 'errored'));
