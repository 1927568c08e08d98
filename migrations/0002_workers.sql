-- Machines that run code. `lost` is not stored: it is how a worker looks that has not been heard for a while.

CREATE TABLE workers (
  id uuid PRIMARY KEY,
  worker_group_id uuid NOT NULL REFERENCES worker_groups (id),
  name text NOT NULL,
  status text NOT NULL DEFAULT 'registered' CHECK (status IN ('registered', 'active', 'draining', 'drained')),
  capacity_executions integer NOT NULL DEFAULT 0,
  capacity_workspaces integer NOT NULL DEFAULT 0,
  in_use_executions integer NOT NULL DEFAULT 0,
  in_use_workspaces integer NOT NULL DEFAULT 0,
  labels json NOT NULL DEFAULT '{}',
  protocol_version integer NOT NULL,
  version text,
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  -- The newest lease call and what it was given, so that a repeat after a lost reply gets the same leases.
  lease_request_id text,
  leased_lease_ids uuid[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX workers_group ON workers (worker_group_id, id);

CREATE TABLE worker_tokens (
  digest bytea PRIMARY KEY,
  worker_id uuid NOT NULL REFERENCES workers (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX worker_tokens_expiry ON worker_tokens (expires_at);
