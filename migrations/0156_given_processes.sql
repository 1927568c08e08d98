-- A process that was created while the poll of its worker waited counts as started from then on: its worker begins it
-- without a call and a commit of their own. One that its worker has never begun can be told by it from one that was lost.
ALTER TABLE processes ADD COLUMN given boolean NOT NULL DEFAULT false;
