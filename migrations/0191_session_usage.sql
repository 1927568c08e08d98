-- What dropped runs of a session that is there used, by model: runs that its own runs had started. Retention adds to it, and nobody else.
CREATE TABLE session_usage (
  environment_id uuid NOT NULL,
  session_id uuid NOT NULL,
  model text NOT NULL,
  calls bigint NOT NULL CHECK (calls > 0),
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  cached_input_tokens bigint NOT NULL CHECK (cached_input_tokens >= 0),
  reasoning_tokens bigint NOT NULL CHECK (reasoning_tokens >= 0),
  cost_nanos bigint CHECK (cost_nanos >= 0),
  PRIMARY KEY (environment_id, session_id, model),
  -- A server of the last release drops a session without knowing of this table.
  FOREIGN KEY (environment_id, session_id) REFERENCES sessions (environment_id, id) ON DELETE CASCADE
);
