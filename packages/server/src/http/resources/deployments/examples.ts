/** Bodies that the document shows; a test checks them against the schemas. */

export const EXAMPLE_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const TASK = {
  id: "send-report",
  description: "Sends the weekly report.",
  payload_schema: { type: "object", properties: { week: { type: "integer" } }, required: ["week"] },
  queue: "reports",
  retry: { max_attempts: 5 },
  max_duration: "10m",
};
const QUEUE = { name: "reports", concurrency_limit: 4 };
const GIT = { commit: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", branch: "main", dirty: false };

export const EXAMPLE_CREATE_DEPLOYMENT = {
  manifest: { tasks: [TASK], queues: [QUEUE] },
  bundle_digest: EXAMPLE_DIGEST,
  bundle_format_version: 2,
  worker_protocol_version: 1,
  git: GIT,
};

export const EXAMPLE_DEPLOYMENT = {
  id: "dep_01kahvq3rsfp29yqs8vqge3t2d",
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
  version: "20261120.7",
  status: "pending",
  is_current: false,
  promoted_at: null,
  api_version: "2026-06-06",
  cli_version: "0.1.0",
  sdk_version: "0.1.0",
  client_version: null,
  bundle_format_version: 2,
  worker_protocol_version: 1,
  bundle: { digest: EXAMPLE_DIGEST, size_bytes: 48_211 },
  node_version: "24.21.0",
  platform: null,
  tasks: [TASK],
  actors: [],
  sandboxes: [],
  schedules: [],
  queues: [QUEUE],
  git: GIT,
  error: null,
  created_at: "2026-11-20T09:15:00.123Z",
  updated_at: "2026-11-20T09:15:00.123Z",
};

export const EXAMPLE_DEPLOYMENT_EVENT = {
  id: "1",
  deployment_id: EXAMPLE_DEPLOYMENT.id,
  kind: "deployment.created",
  message: "Version 20261120.7 was created.",
  attributes: { version: "20261120.7" },
  at: "2026-11-20T09:15:00.123Z",
};
