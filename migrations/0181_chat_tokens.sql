-- A public access token may be for a conversation: several streams, and what is written to them.
-- oldest server: 0160
ALTER TABLE public_access_tokens ALTER COLUMN stream_id DROP NOT NULL;
ALTER TABLE public_access_tokens ADD COLUMN stream_ids uuid[];
ALTER TABLE public_access_tokens ADD CONSTRAINT public_access_tokens_streams CHECK ((stream_id IS NULL) <> (stream_ids IS NULL));
ALTER TABLE public_access_tokens DROP CONSTRAINT public_access_tokens_permission_check;
ALTER TABLE public_access_tokens ADD CONSTRAINT public_access_tokens_permission_check
  CHECK (permission IN ('session.input.send', 'session.output.read', 'session.messages.read', 'session.interrupt', 'session.chat'));
