// The matrix's rows of workspaces, their sandboxes, versions, files and processes.

import { digestOf } from "../../support/api-server.ts";
import { BUNDLE } from "../../support/deploy.ts";
import type { Row } from "../authorization-rows.ts";

const workspace: Row = { object: (ids) => ids.workspace };
const version: Row = { object: (ids) => [ids.workspace, ids.version] };
const file: Row = { ...workspace, query: () => ({ path: "readme.txt" }) };
const sandbox: Row = { object: (ids) => ids.sandbox };

const inExec: Row = { object: (ids) => [ids.running, ids.exec] };
const inPty: Row = { object: (ids) => [ids.running, ids.pty] };
const processes: Record<string, Row> = {
  // Nobody runs it: an answer would come after a minute.
  execInWorkspace: { object: (ids) => ids.doomed, body: () => ({ command: ["true"] }), own: [404] },
  getExecInWorkspace: inExec,
  apiCreateExec: { object: (ids) => ids.running, body: () => ({ command: ["true"] }) },
  apiListExecs: { object: (ids) => ids.running },
  apiGetExec: inExec,
  apiWriteExecStdin: { ...inExec, bytes: new TextEncoder().encode("x"), own: [200, 409] },
  apiCloseExecStdin: inExec,
  apiSignalExec: { ...inExec, body: () => ({ signal: "SIGTERM" }), own: [200, 409] },
  apiReadExecStdout: inExec,
  apiReadExecStderr: inExec,
  apiCreatePty: { object: (ids) => ids.running, body: () => ({}) },
  apiListPtys: { object: (ids) => ids.running },
  apiGetPty: inPty,
  apiWritePty: { ...inPty, bytes: new TextEncoder().encode("x"), own: [200, 409] },
  apiReadPtyOutput: inPty,
  apiResizePty: { ...inPty, body: () => ({ cols: 80, rows: 24 }), own: [200, 409] },
  apiClosePty: inPty,
};

export const workspaces: Record<string, Row> = {
  listSandboxes: {},
  getSandbox: sandbox,
  apiListSandboxes: {},
  apiGetSandbox: sandbox,
  createSandboxWorkspace: { ...sandbox, body: () => ({}) },
  listWorkspaces: {},
  getWorkspace: workspace,
  // Other routes need it later.
  deleteWorkspace: { object: (ids) => ids.doomed },
  apiCreateWorkspace: { body: () => ({}) },
  apiListWorkspaces: {},
  apiGetWorkspace: workspace,
  apiUpdateWorkspace: { ...workspace, body: () => ({ tags: ["matrix"] }) },
  apiDeleteWorkspace: { object: (ids) => ids.doomed },
  apiMaterializeWorkspace: workspace,
  // Ends at once when its caller is gone: a wait of 30 s for nobody is not the matrix's to see.
  apiConnectWorkspace: { object: (ids) => ids.doomed, own: [404, 409] },
  apiStopWorkspace: workspace,
  apiRecoverWorkspace: { ...workspace, own: [409] },
  apiDiscardWorkspace: { ...workspace, body: () => ({ confirm: true }), own: [409] },
  apiListWorkspaceVersions: workspace,
  apiGetWorkspaceVersion: version,
  apiRestoreWorkspaceVersion: version,
  apiDiffWorkspaceVersion: version,
  ...processes,
  apiListWorkspaceFiles: workspace,
  apiStatWorkspaceFile: file,
  apiReadWorkspaceFile: file,
  apiWriteWorkspaceFile: { ...file, bytes: new TextEncoder().encode("hello") },
  apiRemoveWorkspaceFile: { ...file, query: () => ({ path: "spare.txt" }), own: [200, 404] },
};

const AT = "2026-11-20T09:15:00.123Z";

/** Nobody holds it: own, foreign and absent ones are refused alike. */
const materialization = (extra: object = {}): Row => ({
  body: (ids) => ({
    materialization_id: ids.materialization,
    environment_id: ids.environment,
    epoch: 1,
    ...extra,
  }),
  own: [409],
  refusal: 409,
});

const heldProcess = (extra: object = {}): Row => ({
  body: (ids) => ({
    materialization_id: ids.materialization,
    environment_id: ids.environment,
    epoch: 1,
    process_id: ids.exec,
    ...extra,
  }),
  own: [409],
  refusal: 409,
});

/** What a worker asks and reports. */
export const workspacesOfWorker: Record<string, Row> = {
  // The environment is the object: a blob is only ever looked for in one.
  putBlob: {
    parameter: digestOf(BUNDLE),
    bytes: BUNDLE,
    query: (ids) => ({ environment_id: ids.environment }),
    refusal: 404,
  },
  getBlob: {
    parameter: digestOf(BUNDLE),
    query: (ids) => ({ environment_id: ids.environment }),
    refusal: 404,
  },
  leaseWorkspaces: {
    body: () => ({ limit: 0, wait: "0s", isolation: "process", held: [] }),
    own: [200, 409],
  },
  renewWorkspaces: { body: () => ({ materializations: [] }) },
  attachWorkspace: {
    body: (ids) => ({
      run_id: ids.run,
      environment_id: ids.environment,
      lease_id: ids.lease,
      epoch: 1,
    }),
    own: [409],
    refusal: 409,
  },
  readProcessResult: {
    body: (ids) => ({
      run_id: ids.run,
      environment_id: ids.environment,
      lease_id: ids.lease,
      epoch: 1,
      process_id: ids.exec,
      wait: "0s",
    }),
    own: [409],
    refusal: 409,
  },
  liveWorkspace: materialization({ isolation: "process" }),
  stoppedWorkspace: materialization(),
  failedWorkspace: materialization({ error: { message: "no" } }),
  uncommittedWorkspace: materialization({ error: { message: "no" } }),
  commitWorkspace: materialization({
    commit_id: "one",
    parent_version_id: "wsv_1",
    manifest_digest: "0".repeat(64),
    cause: { kind: "stop" },
  }),
  startedProcess: heldProcess(),
  appendProcessOutput: heldProcess({ chunks: [{ stream: "stdout", offset: 0, data: "", at: AT }] }),
  endedProcess: heldProcess({ outcome: "lost" }),
};
