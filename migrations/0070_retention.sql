-- What is dropped after a time. Nearly everything is found by its key, which begins with the time of its making; only
-- sessions end long after they were made.

ALTER TABLE streams
  -- Records up to this one are no longer kept.
  ADD COLUMN kept_after integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT streams_kept_after CHECK (kept_after <= last_sequence);

-- None of its streams has records any more.
ALTER TABLE sessions ADD COLUMN records_dropped boolean NOT NULL DEFAULT false;
CREATE INDEX sessions_ended ON sessions (records_dropped, closed_at) WHERE status <> 'open';
