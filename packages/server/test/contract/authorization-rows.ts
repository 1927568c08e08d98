// One row for every route: what it is called with, so that a valid caller would get through.

import { randomUUID } from "node:crypto";
import { encodeId, type Permission } from "@keelson/contract";
import type { Route } from "../../src/http/edge/route.ts";
import { digestOf } from "../support/api-server.ts";
import { BUNDLE, createBody } from "../support/deploy.ts";
import { ofInstallation, type InstallationIds } from "./support/installation-rows.ts";
import { oauth } from "./support/oauth-rows.ts";
import { savedViews } from "./support/saved-view-rows.ts";
import { publicFiles, sessionItems } from "./support/session-rows.ts";
import { workspaces, workspacesOfWorker } from "./support/workspace-rows.ts";

/** Whose an object is, of which a route is told the id. `malformed` is no id at all. */
export type Whose = "own" | "foreign" | "absent" | "malformed";

export type Ids = {
  run: string;
  bulkAction: string;
  task: string;
  deployment: string;
  schedule: string;
  errorGroup: string;
  secret: string;
  secretName: string;
  workspace: string;
  version: string;
  /** A workspace that nothing else needs. */
  doomed: string;
  sandbox: string;
  /** A workspace that has processes. */
  running: string;
  exec: string;
  pty: string;
  materialization: string;
  bundle: string;
  environment: string;
  lease: string;
  token: string;
  actor: string;
  session: string;
  externalId: string;
  /** Of the session. */
  message: string;
  file: string;
  project: string;
  user: string;
  key: string;
  savedView: string;
  invitation: string;
  organizationEvent: string;
} & InstallationIds;

export type Row = {
  /** The parts of the path that name an object, in order; absent where the route names none. */
  object?: (ids: Ids) => string | readonly string[];
  /** A path parameter `secret`, which says that the caller may. */
  secret?: string;
  /** A path parameter that names no object of a tenant. */
  parameter?: string;
  /** A path parameter `stream`: the session in the path is the object. */
  stream?: string;
  /** A path parameter `sequence`: a record of that stream. */
  sequence?: string;
  /** Of a route that needs more in it than where to act. */
  query?: (ids: Ids) => Readonly<Record<string, string>>;
  body?: (ids: Ids) => object;
  bytes?: Uint8Array;
  /** What a valid caller gets for an object that is foreign or absent. Default 404. */
  refusal?: number;
  /** What a valid caller may get for its own object. Default: any success. */
  own?: number[];
  /** The object is of the installation: to whoever may see one, none is foreign. */
  isGlobal?: true;
  /** What the caller needs besides the route's permission, because it hands this out. */
  gives?: Permission;
  /** Called after all others: it ends the session it is called with. */
  isLast?: true;
};

/** The route's path with the row's object, or its parameter, in it, and the query. */
export function pathOf(
  route: Route,
  row: Row,
  ids: Ids,
  query: Readonly<Record<string, string>> = {},
): string {
  const parts = [row.object?.(ids) ?? row.parameter ?? ""].flat();
  const given = new Map([
    ["stream", row.stream],
    ["secret", row.secret],
    ["sequence", row.sequence],
  ]);
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    given.has(name) ? (given.get(name) ?? "") : (parts.shift() ?? ""),
  );
  const text = new URLSearchParams({ ...row.query?.(ids), ...query }).toString();
  return text === "" ? path : `${path}?${text}`;
}

const ABSENT_RUN = encodeId("run", "00000000-0000-7000-8000-000000000000");
const run: Row = { object: (ids) => ids.run };
const deployment: Row = { object: (ids) => ids.deployment };
const schedule: Row = { object: (ids) => ids.schedule };
const errorGroup: Row = { object: (ids) => ids.errorGroup };
const secret: Row = { object: (ids) => ids.secret };
const secretByName: Row = { object: (ids) => ids.secretName };
const nothing: Row = {};
const bulkAction: Row = { object: (ids) => ids.bulkAction };
/** About a run that is not there: other rows need theirs. */
const bulkActions: Record<string, Row> = {
  listBulkActions: {},
  createBulkAction: {
    body: () => ({ action: "cancel", run_ids: [ABSENT_RUN] }),
    own: [202],
    gives: "runs.cancel",
  },
  getBulkAction: bulkAction,
  cancelBulkAction: { ...bulkAction, own: [200, 409] },
  listBulkActionItems: bulkAction,
};
const token: Row = { object: (ids) => ids.token };
/** Whoever comes first completes or cancels it, and the others are told. */
const settleToken: Row = { ...token, own: [200, 409] };
/** A public access token is for one stream: what else there is, it does not tell. */
const publicSend: Row = { stream: "input", body: () => ({ data: 1 }), own: [201, 409], refusal: 403 };
const publicInterrupt: Row = { body: (ids) => ({ message_id: ids.message }), refusal: 403 };
const publicRead: Row = { stream: "output", refusal: 403 };
const byName = (ids: Ids): Record<string, string> => ({ external_id: ids.externalId });
const tokens: Record<string, Row> = {
  createToken: { body: () => ({}), own: [201] },
  listTokens: nothing,
  getToken: token,
  completeToken: { ...settleToken, body: () => ({}) },
  cancelToken: settleToken,
};

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
  ...workspacesOfWorker,
  leaseExecutions: { body: () => ({ lease_request_id: "matrix", limit: 0, wait: "0s" }), own: [200, 409] },
  renewExecutions: { body: () => ({ leases: [] }) },
  reportExecutions: { body: (ids) => ({ operations: [{ kind: "start", ...operation(ids) }] }), refusal: 200 },
  startExecution: lease(),
  logsExecution: lease({ chunks: [{ stream: "stdout", data: "", at: AT }] }),
  eventsExecution: lease({ events: [{ kind: "step.completed", message: "done", at: AT }] }),
  metadataExecution: lease({ changes: [{ op: "set", key: "a", value: 1 }] }),
  releaseExecution: lease({ outcome: "succeeded" }),
  stepsExecution: lease({ entries: [{ position: 1, kind: "step", name: "a", value: 1 }] }),
  waitsExecution: lease({ waits: [], parked: true }),
  tokensExecution: lease({ position: 1 }),
  childRunsExecution: lease({ position: 1, task: "report" }),
  outputsExecution: lease({ position: 1, stream: "output", records: [{ data: 1 }] }),
  inputsExecution: lease({ position: 1, stream: "input", external_id: "nobody", data: 1 }),
  execsExecution: lease({ position: 1, name: "a", command: ["true"] }),
  statesExecution: lease({ position: 1, action: "get" }),
  usageExecution: lease({ used: [{ model: "small", input_tokens: 1 }] }),
  checkpointsReadyExecution: lease(),
  checkpointsFailedExecution: lease({ message: "no room" }),
};

const project: Row = { object: (ids) => ids.project };
const environment: Row = { object: (ids) => [ids.project, ids.environment] };
const apiKey: Row = { object: (ids) => [ids.project, ids.environment, ids.key] };
const member: Row = { object: (ids) => ids.user };
const invitation: Row = { object: (ids) => ids.invitation };
const named = (): object => ({ name: `Matrix ${randomUUID()}` });

const people: Record<string, Row> = {
  getMe: nothing,
  listOrganizations: nothing,
  listProjects: nothing,
  createProject: { body: named },
  getProject: project,
  updateProject: { ...project, body: () => ({ name: "Renamed" }) },
  listEnvironments: project,
  createEnvironment: { ...project, body: named },
  getEnvironment: environment,
  updateEnvironment: { ...environment, body: () => ({ name: "Renamed" }) },
  ...savedViews,
  listApiKeys: environment,
  createApiKey: { ...environment, body: () => ({ name: "Matrix", permissions: ["runs.read"] }) },
  getApiKey: apiKey,
  revokeApiKey: apiKey,
  listMembers: nothing,
  getMember: member,
  updateMember: { ...member, body: () => ({ role: "viewer" }) },
  removeMember: { ...member, own: [204, 404] },
  listInvitations: nothing,
  createInvitation: { body: () => ({ email: `${randomUUID()}@example.com`, role: "viewer" }) },
  acceptInvitation: { body: () => ({ token: "kl_inv_unknown" }), own: [404] },
  getInvitation: invitation,
  revokeInvitation: invitation,
  listAuditEvents: nothing,
  getAuditEvent: { object: (ids) => ids.organizationEvent },
};

const logins: Record<string, Row> = {
  startMagicLink: { body: () => ({ email: "nobody@example.com" }) },
  openMagicLink: { query: () => ({ token: "kl_lnk_unknown" }), own: [401] },
  finishMagicLink: { body: () => ({ token: "kl_lnk_unknown" }), own: [401] },
  startDevice: { body: () => ({}) },
  askDeviceToken: { body: () => ({ device_code: "kl_dev_unknown" }), own: [400] },
  getDeviceStatus: { query: () => ({ user_code: "BBBB-BBBB" }), own: [404] },
  approveDevice: { body: () => ({ user_code: "BBBB-BBBB" }), own: [404] },
  denyDevice: { body: () => ({ user_code: "BBBB-BBBB" }), own: [404] },
  startGithub: { own: [404] },
  finishGithub: { own: [404] },
  startBrowserSession: nothing,
  logOut: { isLast: true },
};
const DEFINITION = { task: "report", cron: "0 0 1 1 *" };

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const sessions: Record<string, Row> = {
  createSession: { body: () => ({ actor: "chat" }), own: [201] },
  startSessionAndWait: { body: () => ({ actor: "chat", timeout: "1ms" }), own: [200] },
  listSessions: nothing,
  ...sessionItems,
};

const onApi = (rows: Record<string, Row>, prefix = "api"): Record<string, Row> =>
  Object.fromEntries(Object.entries(rows).map(([id, row]) => [`${prefix}${capitalized(id)}`, row]));

const entrypoints: Record<string, Row> = {
  listTasks: nothing,
  getTask: { object: (ids) => ids.task },
  startTask: { parameter: "report", body: () => ({}), own: [201] },
  listActors: nothing,
  getActor: { object: (ids) => ids.actor },
  startActor: { parameter: "chat", body: () => ({}), own: [201] },
};

const LISTS_TASKS = { name: "keelson_list_tasks", arguments: {} };
const mcp: Record<string, Row> = {
  callMcp: { body: () => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: LISTS_TASKS }), own: [200] },
};

/** By operation id. */
export const ROWS: Record<string, Row> = {
  ...entrypoints,
  ...mcp,
  ...oauth,
  ...onApi(entrypoints),
  ...bulkActions,
  ...onApi(bulkActions),
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
  listSecrets: nothing,
  createSecret: { body: () => ({ name: "MATRIX", value: "x" }), own: [201, 409] },
  getSecret: secret,
  // Revoked by an earlier caller.
  rotateSecret: { ...secret, body: () => ({ value: "x" }), own: [200, 409] },
  revokeSecret: secret,
  apiListSecrets: nothing,
  apiGetSecret: secretByName,
  apiRotateSecret: { ...secretByName, body: () => ({ value: "x" }), own: [200, 409] },
  apiRevokeSecret: secretByName,
  apiPutSecret: { parameter: "PUT_BY_MATRIX", body: () => ({ value: "x" }) },
  apiDeleteSecret: { parameter: "PUT_BY_MATRIX", own: [204, 404] },
  listErrorGroups: nothing,
  getRunMetrics: nothing,
  listEntrypointMetrics: nothing,
  getErrorGroup: errorGroup,
  resolveErrorGroup: errorGroup,
  muteErrorGroup: errorGroup,
  openErrorGroup: errorGroup,
  listSchedules: nothing,
  getSchedule: schedule,
  listRunCalls: run,
  getRunUsage: run,
  apiListRuns: nothing,
  apiCountRuns: nothing,
  apiGetRunActivity: nothing,
  apiGetRunMetrics: nothing,
  apiListEntrypointMetrics: nothing,
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
  apiListErrorGroups: nothing,
  apiListRunCalls: run,
  apiGetRunUsage: run,
  apiGetErrorGroup: errorGroup,
  apiResolveErrorGroup: errorGroup,
  apiMuteErrorGroup: errorGroup,
  apiOpenErrorGroup: errorGroup,
  apiListSchedules: nothing,
  apiGetSchedule: schedule,
  apiListScheduleOccurrences: schedule,
  apiListNextRuns: { query: () => ({ cron: "0 7 * * *" }) },
  apiPutSchedule: { body: () => ({ deduplication_key: "matrix", ...DEFINITION }) },
  apiReplaceSchedule: { ...schedule, body: () => DEFINITION },
  apiActivateSchedule: schedule,
  apiDeactivateSchedule: schedule,
  // Each caller would delete it for the next one.
  apiDeleteSchedule: { ...schedule, own: [204, 404] },
  ...tokens,
  ...Object.fromEntries(Object.entries(tokens).map(([id, row]) => [`api${capitalized(id)}`, row])),
  publicCompleteToken: { ...settleToken, body: () => ({}) },
  createPublicAccessToken: {
    body: (ids) => ({
      scope: { type: "session.output.read", session: { type: "id", id: ids.session }, stream: "output" },
    }),
    own: [201],
    refusal: 404,
    gives: "sessions.read",
  },
  publicSendInput: { ...publicSend, object: (ids) => ids.session },
  publicSendInputByExternalId: { ...publicSend, query: byName },
  publicReadOutput: { ...publicRead, object: (ids) => ids.session, query: () => ({ wait: "0s" }) },
  publicWatchRun: { object: (ids) => ids.run, refusal: 403 },
  publicListMessages: { object: (ids) => ids.session, refusal: 403 },
  publicListMessagesByExternalId: { query: byName, refusal: 403 },
  ...publicFiles,
  publicInterruptMessage: { ...publicInterrupt, object: (ids) => ids.session },
  publicInterruptMessageByExternalId: { ...publicInterrupt, query: byName },
  publicReadOutputByExternalId: { ...publicRead, query: (ids) => ({ wait: "0s", ...byName(ids) }) },
  // To know an id is not enough, whoever one is.
  callbackCompleteToken: { ...token, secret: "guessed", bytes: BUNDLE, own: [404] },
  ...workspaces,
  ...people,
  ...logins,
  ...ofInstallation,
  ...worker,
  ...onApi(worker, "apiWorker"),
  ...sessions,
  ...onApi(sessions),
  getHealth: nothing,
  getReadiness: nothing,
  getMetrics: nothing,
  getOpenApi: nothing,
  getDocs: nothing,
  getDocsScript: nothing,
};
