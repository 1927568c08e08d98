-- What the administrators of an installation decide about people and machines.

-- A suspended user's sessions are refused; what they own stays.
ALTER TABLE users ADD COLUMN suspended_at timestamptz;

-- The workers of an organization's new environments; null for the first group of the installation.
ALTER TABLE organizations ADD COLUMN worker_group_id uuid REFERENCES worker_groups (id);

-- Workers by group and state, for those who scale them.
CREATE INDEX workers_status ON workers (worker_group_id, status);
