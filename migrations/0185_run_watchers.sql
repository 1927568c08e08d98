-- A public access token may be for watching one run.
-- oldest server: 0160
ALTER TABLE public_access_tokens ADD COLUMN run_id uuid;
ALTER TABLE public_access_tokens ALTER COLUMN session_id DROP NOT NULL;
ALTER TABLE public_access_tokens DROP CONSTRAINT public_access_tokens_streams;
ALTER TABLE public_access_tokens DROP CONSTRAINT public_access_tokens_permission_check;
ALTER TABLE public_access_tokens ADD CONSTRAINT public_access_tokens_permission_check
  CHECK (permission IN ('session.input.send', 'session.output.read', 'session.messages.read', 'session.interrupt', 'session.chat', 'run.read'));
ALTER TABLE public_access_tokens ADD CONSTRAINT public_access_tokens_target CHECK (
  CASE WHEN permission = 'run.read'
    THEN run_id IS NOT NULL AND num_nonnulls(session_id, stream_id, stream_ids, correlation_id) = 0
    ELSE run_id IS NULL AND session_id IS NOT NULL AND num_nonnulls(stream_id, stream_ids) = 1
  END);
