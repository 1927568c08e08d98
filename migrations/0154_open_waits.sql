-- What a run waits for, without the waits that its journal has: a run that has called thousands of children has as many.
CREATE INDEX run_waits_open ON run_waits (environment_id, run_id, position) WHERE NOT accepted;
