-- What infrastructure takes from a run before its code begins costs no attempt. How often in a row that has happened says
-- how long the next try waits, and when there is none any more; the start of the code sets it to zero.
ALTER TABLE executions ADD COLUMN setbacks smallint NOT NULL DEFAULT 0;

-- A command that infrastructure took runs again when it was asked for like that. It keeps its id; its output goes on at the
-- same offsets, behind what the lost try wrote, which is dropped.
ALTER TABLE processes
  ADD COLUMN on_lost text NOT NULL DEFAULT 'reject' CHECK (on_lost IN ('reject', 'rerun')),
  ADD COLUMN reruns smallint NOT NULL DEFAULT 0,
  -- The run that started it. A rerun waits until the run's code, replayed, asks for it again.
  ADD COLUMN run_id uuid,
  ADD COLUMN awaits_run boolean NOT NULL DEFAULT false,
  -- Where the output of the present try begins.
  ADD COLUMN stdout_base bigint NOT NULL DEFAULT 0,
  ADD COLUMN stderr_base bigint NOT NULL DEFAULT 0;
