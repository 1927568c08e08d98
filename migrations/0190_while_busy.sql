-- What an actor declares for input that comes while a turn is live and does not say it itself. Null: it waits. Of the newest turn's deployment.
ALTER TABLE sessions ADD COLUMN while_busy text CHECK (while_busy IN ('interrupt', 'steer', 'reject'));

-- The same, beside the gate: an append locks and reads the stream's row alone.
ALTER TABLE streams
  ADD COLUMN while_busy text CHECK (while_busy IN ('interrupt', 'steer', 'reject')),
  ADD CHECK (while_busy IS NULL OR direction = 'input');

-- Of an input that is to steer the turn that was live when it came; null of all others.
ALTER TABLE stream_records ADD COLUMN steer boolean;
