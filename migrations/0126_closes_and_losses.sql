-- A terminal whose close was taken: from then on it takes nothing else, whenever its worker gets to hear of it.

ALTER TABLE processes ADD COLUMN closing boolean NOT NULL DEFAULT false;
ALTER TABLE processes ADD CONSTRAINT processes_closing_check CHECK (kind = 'pty' OR NOT closing);

-- A live materialization whose worker fell silent: the version that was current then. While it still is, that worker may come
-- back with the files it had, and nothing has gone on without them.
ALTER TABLE materializations ADD COLUMN lost_version_id uuid;
ALTER TABLE materializations ADD CONSTRAINT materializations_lost_check
  CHECK (lost_version_id IS NULL OR status = 'failed');
