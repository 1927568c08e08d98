const RUN_ID = "run_01kahvq3rwfw9vs4m6ev2n8y1c";
const SESSION_ID = "sess_01kahvq3rvew2bq7m0tk5c9n4h";
const AT = "2026-11-20T09:15:00.123Z";
const PLACE = {
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
};

export const EXAMPLE_SESSION = {
  id: SESSION_ID,
  ...PLACE,
  external_id: "chat-4711",
  task: null,
  actor: "support-chat",
  status: "open",
  status_reason: null,
  activity: "running",
  current_run_id: RUN_ID,
  last_failure: null,
  turn: 1,
  workspace_id: null,
  metadata: { customer: "4711" },
  tags: ["support"],
  expires_at: null,
  closed_at: null,
  close_reason: null,
  created_at: AT,
  updated_at: AT,
};

export const EXAMPLE_CLOSED_SESSION = {
  ...EXAMPLE_SESSION,
  status: "closed",
  activity: "idle",
  closed_at: "2026-11-20T09:40:00.000Z",
  close_reason: "The customer left.",
  updated_at: "2026-11-20T09:40:00.000Z",
};

export const EXAMPLE_CANCELLED_SESSION = {
  ...EXAMPLE_CLOSED_SESSION,
  status: "cancelled",
  close_reason: null,
};

export const EXAMPLE_RUN = {
  id: RUN_ID,
  ...PLACE,
  task: null,
  actor: "support-chat",
  session_id: SESSION_ID,
  turn: 1,
  status: "queued",
  status_reason: null,
  attempt_number: null,
  max_attempts: 3,
  retry: { max_attempts: 3, initial_delay: "1s", max_delay: "5m", factor: 2, jitter: true },
  deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d",
  deployment_version: "20261120.1",
  workspace_id: null,
  payload: null,
  continuations: 0,
  continued_payload: null,
  output: null,
  failure: null,
  error_group_id: null,
  pending_wait: null,
  queue: "default",
  concurrency_key: null,
  priority: 0,
  max_duration: null,
  metadata: {},
  tags: ["support"],
  schedule_id: null,
  parent_run_id: null,
  client_version: null,
  cli_version: null,
  sdk_version: null,
  start_at: null,
  started_at: null,
  finished_at: null,
  expires_at: null,
  created_at: AT,
  updated_at: AT,
};

export const EXAMPLE_START = {
  input: { text: "Where is my parcel?" },
  idempotency_key: "chat-4711-start",
};

export const EXAMPLE_CREATE_SESSION = {
  actor: "support-chat",
  external_id: "chat-4711",
  metadata: { customer: "4711" },
  tags: ["support"],
  ...EXAMPLE_START,
};

export const EXAMPLE_STREAM = {
  id: "strm_01kahvq3rxf4z8k2v5c7m1n0qa",
  session_id: SESSION_ID,
  name: "output",
  direction: "output",
  last_sequence: 1,
  created_at: AT,
};

export const EXAMPLE_APPEND = {
  data: { text: "Where is my parcel?" },
  correlation_id: "question-1",
  idempotency_key: "chat-4711-question-1",
};

export const EXAMPLE_RECORD = {
  id: "rec_01kahvq3ryejg9w5s3t1b7x2md",
  session_id: SESSION_ID,
  stream: "input",
  sequence: 1,
  data: { text: "Where is my parcel?" },
  content_type: null,
  correlation_id: "question-1",
  message_id: null,
  source: { kind: "api", id: "key_01kahvn0a3e8wrk4q2m6v1c9tx" },
  run_id: null,
  attempt_number: null,
  created_at: AT,
};

export const EXAMPLE_SENT = { ...EXAMPLE_RECORD, disposition: "delivered" };

export const EXAMPLE_WITHDRAWN = {
  ...EXAMPLE_RECORD,
  data: null,
  withdrawn_at: "2026-11-20T09:15:02.480Z",
};

/** What the run has answered, on an output stream. */
const EXAMPLE_ANSWER = {
  ...EXAMPLE_RECORD,
  stream: "output",
  data: { text: "It left Vienna this morning." },
  message_id: "msg_01kahvq3ryejg9w5s3t1b7x2me",
  source: { kind: "run", id: RUN_ID },
  run_id: RUN_ID,
  attempt_number: 1,
};

export const exampleRecords = (stream: "input" | "output"): object => ({
  records: [stream === "input" ? EXAMPLE_RECORD : EXAMPLE_ANSWER],
  next_cursor: "1",
  ended: false,
});
