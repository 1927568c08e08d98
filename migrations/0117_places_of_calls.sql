-- Where in the course of the code a durable call was made, as the SDK counts: a replay knows calls by it that I/O of the
-- code's own led to, and hands no outcome out before the calls that were made before it. Null: made by an SDK that kept none.
ALTER TABLE run_journal ADD COLUMN place integer;
ALTER TABLE run_waits ADD COLUMN place integer;
