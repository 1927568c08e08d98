-- A message can be asked to end before it is whole.
ALTER TABLE messages ADD COLUMN interrupt_requested_at timestamptz;
-- Names the call of the code that writes it, the same in each attempt: what was interrupted is not begun again.
ALTER TABLE messages ADD COLUMN call text;
CREATE INDEX messages_to_interrupt ON messages (interrupt_requested_at) WHERE status = 'open' AND interrupt_requested_at IS NOT NULL;
CREATE INDEX messages_interrupted ON messages (environment_id, run_id) WHERE interrupt_requested_at IS NOT NULL;
-- A message of the stream was ended although its code may still write it: its pieces are looked at before they are taken.
ALTER TABLE streams ADD COLUMN fenced boolean NOT NULL DEFAULT false;
