import { EXAMPLE_VERSION, EXAMPLE_WORKSPACE } from "../workspaces/examples.ts";

/** Bodies for the document; a test checks them against the schemas. */

const AT = "2026-11-20T09:15:00.123Z";
const common = {
  workspace_id: EXAMPLE_WORKSPACE.id,
  cwd: "",
  env_names: ["CI"],
  exit_code: 0,
  error: null,
  version_id: EXAMPLE_VERSION.id,
  started_at: AT,
  finished_at: AT,
  created_at: AT,
  updated_at: AT,
};
const execFields = {
  ...common,
  id: "exec_01kahw5e4gfy7s0t2v9b6m1xqa",
  command: ["npm", "test"],
  status: "exited",
  signal: null,
  timeout: "60s",
  timed_out: false,
  on_lost: "reject",
  reruns: 0,
};

export const EXAMPLE_EXEC = {
  ...execFields,
  stdin: { bytes: 0, closed: true },
  stdout: { bytes: 6, earliest_cursor: "0" },
  stderr: { bytes: 0, earliest_cursor: "0" },
};
export const EXAMPLE_EXEC_RESULT = {
  ...execFields,
  stdout: "aGVsbG8K",
  stderr: "",
  stdout_truncated: false,
  stderr_truncated: false,
};
export const EXAMPLE_PTY = {
  ...common,
  id: "pty_01kahw6q1vfs8k3n5t7w0y2bcd",
  command: ["bash", "-l"],
  status: "running",
  closing: false,
  exit_code: null,
  version_id: null,
  finished_at: null,
  cols: 120,
  rows: 40,
  input: { bytes: 3 },
  output: { bytes: 6, earliest_cursor: "0" },
};
export const EXAMPLE_OUTPUT = {
  chunks: [{ offset: 0, data: "aGVsbG8K", at: AT }],
  next_cursor: "6",
  ended: false,
};
