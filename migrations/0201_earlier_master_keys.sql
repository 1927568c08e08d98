-- Master keys that were replaced, under the present one: credentials that were derived before a change are derived again by them.
-- Whatever remembers the id of such a credential remembers the number of its key with it; without one it is the first key's.
ALTER TABLE installation ADD COLUMN master_key_number integer NOT NULL DEFAULT 0 CHECK (master_key_number >= 0);
CREATE TABLE earlier_master_keys (
  number integer PRIMARY KEY CHECK (number >= 0),
  wrapped_key bytea NOT NULL
);
