// One row for every route: what it is called with, so that a valid caller would get through.

import { digestOf } from "../support/api-server.ts";
import { BUNDLE, createBody } from "../support/deploy.ts";

/** Whose an object is, of which a route is told the id. `malformed` is no id at all. */
export type Whose = "own" | "foreign" | "absent" | "malformed";

export type Ids = {
  run: string;
  task: string;
  deployment: string;
  bundle: string;
  environment: string;
  lease: string;
};

export type Row = {
  /** The part of the path that names an object; absent where the route names none. */
  object?: (ids: Ids) => string;
  /** A path parameter that names no object of a tenant. */
  parameter?: string;
  body?: (ids: Ids) => object;
  bytes?: Uint8Array;
  /** What a valid caller gets for an object that is foreign or absent. Default 404. */
  refusal?: number;
  /** What a valid caller may get for its own object. Default: any success. */
  own?: number[];
};

const run: Row = { object: (ids) => ids.run };
const deployment: Row = { object: (ids) => ids.deployment };
const nothing: Row = {};

const AT = "2026-11-20T09:15:00.123Z";
const operation = (ids: Ids, extra: object = {}): object => ({
  run_id: ids.run,
  environment_id: ids.environment,
  lease_id: ids.lease,
  epoch: 1,
  sequence: 1,
  at: AT,
  ...extra,
});
/** Nobody holds these leases: own, foreign and absent ones are refused alike. */
const lease = (extra: object = {}): Row => ({
  body: (ids) => operation(ids, extra),
  own: [409],
  refusal: 409,
});

const create: Row = { body: () => createBody({ tasks: [{ id: "report" }] }), own: [201, 409] };
const upload: Row = { parameter: digestOf(BUNDLE), bytes: BUNDLE };

const worker: Record<string, Row> = {
  mintWorkerToken: {
    body: () => ({ enrollment_token: "kl_enr_unknown", worker_protocol_version: 1 }),
    own: [401],
  },
  registerWorker: {
    body: () => ({ capacity: { executions: 1, workspaces: 0 }, worker_protocol_version: 1 }),
  },
  activateWorker: nothing,
  drainWorker: { own: [200, 409] },
  heartbeatWorker: { body: () => ({}) },
  getWorkerStatus: nothing,
  answerDeploymentCheck: {
    body: (ids) => ({
      deployment_id: ids.deployment,
      check_id: "none",
      status: "failed",
      error: { message: "no" },
    }),
    own: [200, 409],
    refusal: 404,
  },
  getBundle: { object: (ids) => ids.bundle },
  leaseExecutions: { body: () => ({ lease_request_id: "matrix", limit: 0, wait: "0s" }), own: [200, 409] },
  renewExecutions: { body: () => ({ leases: [] }) },
  reportExecutions: { body: (ids) => ({ operations: [{ kind: "start", ...operation(ids) }] }), refusal: 200 },
  startExecution: lease(),
  logsExecution: lease({ chunks: [{ stream: "stdout", data: "", at: AT }] }),
  eventsExecution: lease({ events: [{ kind: "step.completed", message: "done", at: AT }] }),
  metadataExecution: lease({ changes: [{ op: "set", key: "a", value: 1 }] }),
  releaseExecution: lease({ outcome: "succeeded" }),
};

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** By operation id. */
export const ROWS: Record<string, Row> = {
  listTasks: nothing,
  getTask: { object: (ids) => ids.task },
  startTask: { parameter: "report", body: () => ({}), own: [201] },
  startTaskBatch: { body: () => ({ starts: [{ task: "report" }] }) },
  listRuns: nothing,
  getRun: run,
  listRunEvents: run,
  listRunLogs: run,
  cancelRun: run,
  uploadDeploymentBundle: upload,
  createDeployment: create,
  listDeployments: nothing,
  getCurrentDeployment: nothing,
  getDeployment: deployment,
  promoteDeployment: deployment,
  listDeploymentEvents: deployment,
  apiListRuns: nothing,
  apiCountRuns: nothing,
  apiGetRun: run,
  apiCancelRun: run,
  apiListRunEvents: run,
  apiGetRunLogs: run,
  apiUploadDeploymentBundle: upload,
  apiCreateDeployment: create,
  apiListDeployments: nothing,
  apiGetCurrentDeployment: nothing,
  apiGetDeployment: deployment,
  apiPromoteDeployment: deployment,
  apiListDeploymentEvents: deployment,
  ...worker,
  ...Object.fromEntries(Object.entries(worker).map(([id, row]) => [`apiWorker${capitalized(id)}`, row])),
  getHealth: nothing,
  getReadiness: nothing,
  getMetrics: nothing,
  getOpenApi: nothing,
  getDocs: nothing,
  getDocsScript: nothing,
};
