/** Bodies for the document; a test checks them against the schemas. */

const AT = "2026-11-20T09:15:00.123Z";
const DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

export const EXAMPLE_WORKSPACE = {
  id: "ws_01kahw3m9xe0q8k2n5v7r1t4cd",
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
  external_id: "ticket-4711",
  sandbox: "default",
  status: "active",
  current_version_id: "wsv_01kahw3m9xe0q8k2n5v7r1t4ce",
  materialization: {
    id: "mat_01kahw40z2f6sas7q9e3k8w1np",
    status: "live",
    isolation: "namespace",
    worker_id: "wkr_01kahw0c4kf0z8k1n4t2q7m3xv",
    base_version_id: "wsv_01kahw3m9xe0q8k2n5v7r1t4ce",
    dirty: false,
    started_at: AT,
    error: null,
  },
  status_reason: null,
  metadata: { customer: "acme" },
  tags: ["support"],
  last_activity_at: AT,
  created_at: AT,
  updated_at: AT,
};

export const EXAMPLE_VERSION = {
  id: "wsv_01kahw3m9xe0q8k2n5v7r1t4ce",
  workspace_id: EXAMPLE_WORKSPACE.id,
  number: 2,
  parent_version_id: "wsv_01kahw3m9xe0q8k2n5v7r1t4cd",
  status: "ready",
  cause: { kind: "exec", id: "exec_01kahw5e4gfy7s0t2v9b6m1xqa" },
  digest: DIGEST,
  file_count: 214,
  size_bytes: 1_048_811,
  renamed: ["caf\\xe9.txt"],
  renamed_count: 1,
  left_out: [],
  left_out_count: 0,
  created_at: AT,
};

export const EXAMPLE_FILE = {
  path: "src/main.ts",
  name: "main.ts",
  kind: "file",
  size_bytes: 1811,
  mode: "0644",
  link_target: null,
  digest: DIGEST,
  modified_at: AT,
};

export const EXAMPLE_DIFF = {
  changes: [{ path: "src/main.ts", change: "added", before: null, after: EXAMPLE_FILE }],
  base_version_id: "wsv_01kahw3m9xe0q8k2n5v7r1t4cd",
  version_id: EXAMPLE_VERSION.id,
  next_cursor: null,
};

export const EXAMPLE_SANDBOX = {
  id: "sbx_01kahvq3rsfp29yqs8vqge3t2f",
  project_id: EXAMPLE_WORKSPACE.project_id,
  environment_id: EXAMPLE_WORKSPACE.environment_id,
  declared_id: "node",
  deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d",
  isolation: "namespace",
  resources: { cpu: 2, memory: 2048 },
  env: { NODE_ENV: "test" },
  setup: ["npm init -y"],
  network: "on",
  created_at: AT,
};
