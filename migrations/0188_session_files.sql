-- Files that messages of a session refer to. Their bytes are blobs of the environment, which stay as long as a session has them.
-- oldest server: 0160
CREATE TABLE session_files (
  environment_id uuid NOT NULL,
  session_id uuid NOT NULL,
  id uuid NOT NULL,
  digest bytea NOT NULL,
  size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
  -- `type/subtype`, as the uploader said it.
  media_type text NOT NULL,
  name text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, session_id, id),
  -- The same file again is the file that is there.
  UNIQUE NULLS NOT DISTINCT (environment_id, session_id, digest, media_type, name),
  -- A server of the last release drops a session without knowing of its files.
  FOREIGN KEY (environment_id, session_id) REFERENCES sessions (environment_id, id) ON DELETE CASCADE,
  FOREIGN KEY (environment_id, digest) REFERENCES blobs (environment_id, digest)
);
CREATE INDEX session_files_digest ON session_files (environment_id, digest);

-- A public access token may be for the files of a session, which belong to no stream and to no exchange.
ALTER TABLE public_access_tokens DROP CONSTRAINT public_access_tokens_permission_check;
ALTER TABLE public_access_tokens ADD CONSTRAINT public_access_tokens_permission_check
  CHECK (permission IN ('session.input.send', 'session.output.read', 'session.messages.read', 'session.interrupt',
    'session.files.read', 'session.files.write', 'session.chat', 'run.read'));
ALTER TABLE public_access_tokens DROP CONSTRAINT public_access_tokens_target;
ALTER TABLE public_access_tokens ADD CONSTRAINT public_access_tokens_target CHECK (
  CASE
    WHEN permission = 'run.read' THEN run_id IS NOT NULL AND num_nonnulls(session_id, stream_id, stream_ids, correlation_id) = 0
    WHEN permission IN ('session.files.read', 'session.files.write')
      THEN session_id IS NOT NULL AND num_nonnulls(run_id, stream_id, stream_ids, correlation_id) = 0
    ELSE run_id IS NULL AND session_id IS NOT NULL AND num_nonnulls(stream_id, stream_ids) = 1
  END);
