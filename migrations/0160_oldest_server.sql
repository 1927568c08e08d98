-- Whether an older server can run after a migration: the number of the newest migration that it has to know at least.
-- A migration that takes something away from older servers says it in a line `-- oldest server: <number>`.

ALTER TABLE keelson_migrations ADD COLUMN IF NOT EXISTS oldest_server integer;
