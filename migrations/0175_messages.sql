-- What runs write to streams in pieces: each is one message, which begins, and ends once.
CREATE TABLE messages (
  environment_id uuid NOT NULL,
  id uuid NOT NULL,
  session_id uuid NOT NULL,
  stream_id uuid NOT NULL,
  run_id uuid NOT NULL,
  attempt_number integer NOT NULL,
  -- Of the lease under which it began: what a later one finds open was given up.
  epoch integer NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'complete', 'failed', 'interrupted')),
  correlation_id text,
  first_sequence bigint NOT NULL,
  -- Of its last piece.
  last_sequence bigint,
  -- All pieces as JSON, so that a history is not read piece by piece: a text, when each is one, or else a list of them. Null where
  -- they are too many.
  data text,
  created_at timestamptz NOT NULL,
  ended_at timestamptz,
  PRIMARY KEY (environment_id, id),
  CHECK ((status = 'open') = (ended_at IS NULL)),
  CHECK ((status = 'open') = (last_sequence IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX messages_by_session ON messages (environment_id, session_id, created_at, id);
CREATE INDEX messages_by_stream ON messages (environment_id, stream_id, created_at, id);
-- Few: what is being written, and what is to be ended with its run.
CREATE INDEX messages_open ON messages (environment_id, session_id, run_id) WHERE status = 'open';
