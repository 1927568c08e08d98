-- Lists of runs that a person gave a name, in one environment. Nobody else sees them.
CREATE TABLE saved_views (
  environment_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  name text NOT NULL,
  -- JSON, as the wire has it.
  filter text NOT NULL,
  columns text[],
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (environment_id, user_id, id),
  UNIQUE (environment_id, user_id, name)
);
