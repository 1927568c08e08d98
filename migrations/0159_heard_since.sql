-- Since when a worker has been heard without being silent for as long as a lease lasts: who was there all that time can tell a
-- worker that is gone from one that nobody could hear.
-- And when its process began: runs that a process of before had are nobody's, while workspaces outlast it.
ALTER TABLE workers
  ADD COLUMN heard_since timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN registered_at timestamptz;
