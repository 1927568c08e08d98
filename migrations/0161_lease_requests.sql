-- What each lease call of a worker was given, to be given again when its answer was lost: a row for a call that got runs. They
-- were columns of `workers`, whose row was so written by each claim: claims of one worker waited for each other, and while
-- somebody holds an old snapshot, each look at the row stepped over all that it had been. The columns stay for servers of the
-- version before, which still write them.

CREATE TABLE lease_requests (
  worker_id uuid NOT NULL,
  lease_request_id text NOT NULL,
  lease_ids uuid[] NOT NULL,
  leased_at timestamptz NOT NULL,
  PRIMARY KEY (worker_id, lease_request_id)
);
