-- Inputs that were withdrawn before a run received them. The record stays, so that streams have no gaps.
ALTER TABLE stream_records ADD COLUMN withdrawn_at timestamptz;

-- Of an input stream, beyond what its runs have received: who waits for the next record passes over these, without a look at the records.
ALTER TABLE streams ADD COLUMN withdrawn_sequences integer[];
