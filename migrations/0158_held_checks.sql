-- A check of a deployment that a worker is at, apart from one that waits to be made again: only the first can fall silent. A check
-- whose worker falls silent is an interrupted one, so check_count counts nothing any more; servers from before still read it.
ALTER TABLE deployments ADD COLUMN check_is_held boolean NOT NULL DEFAULT false CHECK (NOT check_is_held OR check_id IS NOT NULL);
