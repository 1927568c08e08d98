-- Why the last turn of a session failed: of a session that stays open, nothing else says it.
ALTER TABLE sessions
  ADD COLUMN failed_run_id uuid,
  ADD COLUMN failure_code text,
  ADD COLUMN failure_message text,
  ADD COLUMN failed_at timestamptz CHECK (
    num_nulls(failed_run_id, failure_code, failure_message, failed_at) IN (0, 4));
