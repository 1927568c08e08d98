-- Which records are pieces of one message. Records that were there before are pieces of none.

ALTER TABLE stream_records ADD COLUMN message_id uuid;
