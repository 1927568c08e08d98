-- The tag that new credentials of this installation carry when it is one of several cells. Null: it has no tag. It is set once and
-- stays: credentials with it are in the hands of others, and a router sends them where the tag says.
ALTER TABLE installation ADD COLUMN cell text CHECK (cell ~ '^[a-z][0-9a-z]{1,7}$');
