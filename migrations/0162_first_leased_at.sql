-- When a run was leased first. With it the rows of a run say when it was created, queued, leased, started and ended, and
-- these events need no rows of their own: they were half of what is kept of a run that does nothing else. Events that are
-- stored stay, and are read as before.

ALTER TABLE executions ADD COLUMN first_leased_at timestamptz;
ALTER TABLE run_results ADD COLUMN first_leased_at timestamptz;
