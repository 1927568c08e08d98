-- The list of runs by priority. Nearly every run has the priority 0, and pays nothing.
CREATE INDEX runs_priority ON runs (environment_id, priority, id) WHERE priority <> 0;
