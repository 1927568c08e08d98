-- What is true of the installation as a whole. One row.

CREATE TABLE installation (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  -- Of the master key, so that a replica that was given another key does not start.
  master_key_fingerprint bytea NOT NULL
);
