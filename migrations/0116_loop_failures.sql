-- Items that a background loop could not process. The loop leaves an item alone until its retry time, so that it does not
-- stop the others; every server knows it, and a person sees its cause. An item may be gone by then, so nothing is referenced.
CREATE TABLE loop_failures (
  loop text NOT NULL,
  environment_id uuid NOT NULL,
  item_id text NOT NULL,
  failures integer NOT NULL CHECK (failures > 0),
  cause text NOT NULL,
  first_failed_at timestamptz NOT NULL,
  last_failed_at timestamptz NOT NULL,
  retry_at timestamptz NOT NULL,
  PRIMARY KEY (loop, environment_id, item_id)
);
