-- The first result of a keyed request, written in the transaction of its effect.
-- `scope` is the operation and its target. A start keeps only the run's id: its answer is rebuilt from the run,
-- because a start answers with the run as it was created.
CREATE TABLE idempotency_keys (
  environment_id uuid NOT NULL,
  scope text NOT NULL,
  key text NOT NULL,
  request_digest bytea NOT NULL,
  resource_id uuid,
  response_status smallint NOT NULL,
  response_body text,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, scope, key),
  CHECK ((resource_id IS NULL) <> (response_body IS NULL))
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
