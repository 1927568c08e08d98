-- A message may go on over steps, waits and attempts, and its run is told in its own order when somebody interrupts it.
-- oldest server: 0160
ALTER TABLE messages ADD COLUMN spans boolean NOT NULL DEFAULT false;

-- What the tries of steps wrote to messages that are open, one after the other: a part goes up to the next one of its message. Gone
-- with the end of the message.
CREATE TABLE message_parts (
  environment_id uuid NOT NULL,
  message_id uuid NOT NULL,
  first_sequence bigint NOT NULL,
  -- The step that wrote it, and which of its parts it is.
  call text NOT NULL,
  -- Another try of the step wrote anew.
  void boolean NOT NULL DEFAULT false,
  PRIMARY KEY (environment_id, message_id, first_sequence)
);

ALTER TABLE run_waits ADD COLUMN message_id uuid;
ALTER TABLE run_waits DROP CONSTRAINT run_waits_kind_check;
ALTER TABLE run_waits ADD CONSTRAINT run_waits_kind_check CHECK (kind IN ('timer', 'token', 'input', 'run', 'message'));
ALTER TABLE run_waits ADD CONSTRAINT run_waits_message_check CHECK ((kind = 'message') = (message_id IS NOT NULL));
