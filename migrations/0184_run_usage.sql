-- What calls of models used, by run and model. A run adds to its own rows under its lock.
-- oldest server: 0160
CREATE TABLE run_usage (
  environment_id uuid NOT NULL,
  run_id uuid NOT NULL,
  model text NOT NULL,
  -- Of the run.
  session_id uuid,
  calls bigint NOT NULL CHECK (calls > 0),
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  cached_input_tokens bigint NOT NULL CHECK (cached_input_tokens >= 0),
  reasoning_tokens bigint NOT NULL CHECK (reasoning_tokens >= 0),
  -- Billionths of a US dollar; null while nobody has said a cost.
  cost_nanos bigint CHECK (cost_nanos >= 0),
  PRIMARY KEY (environment_id, run_id, model)
) WITH (fillfactor = 80);
CREATE INDEX run_usage_session ON run_usage (environment_id, session_id) WHERE session_id IS NOT NULL;
