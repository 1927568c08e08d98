-- A run completes a token by its own credential.
ALTER TABLE tokens DROP CONSTRAINT tokens_completed_by_kind_check,
  ADD CONSTRAINT tokens_completed_by_kind_check
    CHECK (completed_by_kind IN ('api_key', 'user', 'public', 'callback', 'run')) NOT VALID;
ALTER TABLE tokens VALIDATE CONSTRAINT tokens_completed_by_kind_check;
