-- Checks of a deployment that infrastructure interrupted say nothing of the bundle: they are counted apart from those that
-- nobody answered, of which three fail the deployment.
ALTER TABLE deployments ADD COLUMN check_interruptions integer NOT NULL DEFAULT 0 CHECK (check_interruptions >= 0);
