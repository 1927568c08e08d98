-- Which workers can run which deployments.

-- What a deployment asks of a worker, in a word: `node24`, `linux-x64-glibc-node24`. Null: any worker can run it.
ALTER TABLE deployments ADD COLUMN requirement text;

ALTER TABLE workers
  ADD COLUMN node_version text,
  -- {os, arch, libc}
  ADD COLUMN platform json,
  -- The requirements that it meets. Empty: it did not say what it is, and runs bundles of format 1 alone.
  ADD COLUMN meets text[] NOT NULL DEFAULT '{}';

-- All that were ever asked, which are few. A worker that meets them all is not compared with each run.
CREATE TABLE requirements (requirement text PRIMARY KEY);
