// What the fuzzed requests can name: objects that are there, their like in another organization, and who may call.

import assert from "node:assert/strict";
import { encodeId, PERMISSIONS } from "@keelson/contract";
import { digestOf, type ApiServer } from "../../support/api-server.ts";
import { insertErrorGroup } from "../../support/failed-run.ts";
import { BUNDLE, createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";
import { enrollWorker } from "../../support/raw-worker.ts";
import {
  addApiKey,
  addForeignPlace,
  addPerson,
  addUser,
  firstOrganization,
  newCredential,
  place,
  type Place,
} from "../../support/tenancy.ts";
import type { Callers } from "./fuzzed-requests.ts";
import { fuzzedInstallation, makeInstallation } from "./installation-rows.ts";
import { makeFuzzWorkspaces, type FuzzWorkspaces } from "./fuzz-workspaces.ts";
import type { Scene } from "./schema-values.ts";

// The document is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

const TASK = "report";
const ACTOR = "chat";
const MANIFEST = { tasks: [{ id: TASK }, { id: "other" }], actors: [{ id: ACTOR }] };
const MISSING = "00000000-0000-7000-8000-000000000000";

const RESOURCE_VALUES: Record<string, unknown[]> = {
  name: ["FUZZED", "1_NOT"],
  deduplication_key: ["one", "two"],
  cron: ["*/5 * * * *", "30 2 29 2 *", "0 0 31 2 *", "* * *", "@daily", "1-0 * * * *", "0 0 * * FRI#9"],
  timezone: ["Europe/Berlin", "+02:00", "Nowhere/At all"],
};

export type FuzzScene = {
  readonly document: Any;
  /** Runs about which workers were made to say odd things. */
  readonly leasedRuns: readonly string[];
  /** What one operation's requests are made of: workers and leases of its own, so that it spoils no other's. */
  prepare(operation: Any, path: string): Promise<{ scene: Scene; callers: Callers }>;
};

async function startRuns(server: ApiServer, count: number): Promise<string[]> {
  const starts = Array.from({ length: count }, () => ({ task: TASK }));
  const { status, body, text } = await server.call("POST", "/v1/tasks/start-batch", { body: { starts } });
  assert.equal(status, 200, text);
  return body.results.map((result: Any) => result.run.id as string);
}

type FuzzedToken = { id: string; public_access_token: string; callback_url: string };

async function createTokens(server: ApiServer, count: number): Promise<FuzzedToken[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, () => server.call("POST", "/v1/tokens", { body: {} })),
  );
  return answers.map(({ body }) => body as FuzzedToken);
}

async function cursorsOf(server: ApiServer): Promise<string[]> {
  const answers = await Promise.all(
    ["/v1/runs?limit=1", "/v1/tasks?limit=1", "/v1/deployments?limit=1", "/v1/tokens?limit=1"].map((path) =>
      server.call("GET", path),
    ),
  );
  return answers.flatMap(({ body }) =>
    typeof body.next_cursor === "string" ? [body.next_cursor as string] : [],
  );
}

/** Leases a run to a worker and gives the fields that its operations carry; the run's id is added to `leasedRuns`. */
async function leaseRun(
  server: ApiServer,
  token: string,
  leasedRuns: string[],
): Promise<Record<string, unknown[]>> {
  await startRuns(server, 2);
  const body = { lease_request_id: "scene", limit: 1, wait: "5s" };
  const { body: answer, text } = await server.call("POST", "/worker/v1/executions/lease", {
    as: token,
    body,
  });
  const [execution] = answer.executions;
  assert.ok(execution, text);
  leasedRuns.push(execution.run.id);
  return {
    run_id: [execution.run.id],
    environment_id: [execution.run.environment_id],
    lease_id: [execution.lease_id],
    epoch: [execution.epoch],
    sequence: Array.from({ length: 12 }, (_, index) => index + 1),
  };
}

/** People, and a key and an invitation that may be revoked. */
async function addPeople(server: ApiServer) {
  const { project_id, environment_id, user_token: as } = server.credentials;
  const keys = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
  const key = await server.call("POST", keys, { as, body: { name: "spare" } });
  const body = { email: "spare@example.com", role: "viewer" };
  const invitation = await server.call("POST", "/api/invitations", { as, body });
  return {
    key: key.body.id as string,
    invitation: invitation.body.id as string,
    member: await addUser(server, "developer"),
    person: await addPerson(server, "viewer"),
    // Whoever signs out in the name of this one takes nobody else's session.
    leaver: await addUser(server, "developer"),
    organization: encodeId("org", await firstOrganization(server)),
  };
}

/** The ids that a path can name, and one of the same kind that is not there. */
function idsIn(ids: Readonly<Record<string, string[]>>, path: string): string[] {
  const [, known = []] = Object.entries(ids).find(([part]) => path.includes(part)) ?? [];
  return known.flatMap((id) => [id, id.replace(/_.*/, encodeId("run", MISSING).slice("run".length))]);
}

/** Where users say to act, in paths and beside requests. */
function selectionOf(
  server: ApiServer,
  there: Place,
  organization: string,
  user: string,
): Record<string, unknown[]> {
  const here = place(server);
  return {
    organization_id: [organization, organization, there.organization_id],
    project_id: [here.project_id, here.project_id, there.project_id],
    environment_id: [here.environment_id],
    user_id: [user, encodeId("user", MISSING)],
  };
}

type FuzzedSessions = {
  openId: string;
  endedId: string;
  openName: string;
  endedName: string;
  /** Of the open one. */
  file: string;
};

/** A session to append to, and one that has ended: reading that waits for nothing. */
async function makeSessions(server: ApiServer): Promise<FuzzedSessions> {
  const [openName, endedName] = ["an open one", "an ended one"] as const;
  const create = async (external_id: string): Promise<string> => {
    const body = { actor: ACTOR, external_id, input: "hello" };
    const answer = await server.call("POST", "/v1/sessions", { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.id;
  };
  const [openId, endedId] = [await create(openName), await create(endedName)];
  assert.equal((await server.call("POST", `/v1/sessions/${endedId}/cancel`)).status, 200);
  const path = `/v1/sessions/${openId}/files/${digestOf(BUNDLE)}`;
  const uploaded = await server.call("PUT", path, { bytes: BUNDLE });
  assert.equal(uploaded.status, 201, uploaded.text);
  return { openId, endedId, openName, endedName, file: uploaded.body.id };
}

/** For what may be sent to the open session, and read of the ended one. */
async function createAccessTokens(server: ApiServer, sessions: FuzzedSessions): Promise<string[]> {
  const scopes = [
    { type: "session.input.send", session: { type: "id", id: sessions.openId }, stream: "input" },
    { type: "session.output.read", session: { type: "id", id: sessions.endedId }, stream: "output" },
    { type: "session.chat", session: { type: "id", id: sessions.openId } },
  ];
  const answers = await Promise.all(
    scopes.map((scope) => server.call("POST", "/api/public-access-tokens", { body: { scope } })),
  );
  return answers.map(({ body }) => body.public_access_token as string);
}

/** What a session's operation is asked about. Those that wait for long are asked about nothing that would let them. */
function sessionFields(path: string, sessions: FuzzedSessions): Record<string, unknown[]> {
  const { openId, endedId, openName, endedName } = sessions;
  if (path.endsWith("/start-and-wait")) return { task: ["missing"], actor: ["missing"] };
  const file = sessions.file;
  const stays = path.endsWith("/read") || path.endsWith("/close") || path.endsWith("/cancel");
  return {
    actor: [ACTOR],
    wait: ["0s"],
    stream: ["input", "output", "new"],
    file: [file, digestOf(BUNDLE), digestOf(Buffer.alloc(0)), encodeId("file", MISSING)],
    external_id: stays ? [endedName, "nobody"] : [openName, endedName, "nobody"],
    ...(path.includes("/sessions/")
      ? { id: stays ? [endedId, encodeId("sess", MISSING)] : [openId, endedId, encodeId("sess", MISSING)] }
      : {}),
  };
}

type FuzzedObjects = {
  known: Record<string, unknown[]>;
  sessions: FuzzedSessions;
  ids: Readonly<Record<string, string[]>>;
  workspaceIds: FuzzWorkspaces["idsFor"];
};

async function makeObjects(server: ApiServer, worker: string): Promise<FuzzedObjects> {
  const deployment = await createReadyDeployment(server, worker, MANIFEST);
  await promote(server, deployment.id);
  const runs = await startRuns(server, 3);
  const tasks = await server.call("GET", "/v1/tasks");
  const scheduleBody = { deduplication_key: "one", task: TASK, cron: "0 0 1 1 *" };
  const schedule = await server.call("POST", "/api/schedules", { body: scheduleBody });
  const sessions = await makeSessions(server);
  const tokens = await createTokens(server, 2);
  const cursors = await cursorsOf(server);
  const workspaces = await makeFuzzWorkspaces(server);
  const known: Record<string, unknown[]> = {
    ...workspaces.known,
    declaredID: [TASK, "other", ACTOR],
    task: [TASK],
    digest: [digestOf(BUNDLE), digestOf(Buffer.alloc(0))],
    bytes: [BUNDLE, Buffer.alloc(0)],
    cursor: [...cursors, "0", "1"],
    deployment_id: [deployment.id, encodeId("dep", MISSING)],
    bundle_digest: [digestOf(BUNDLE)],
    bundle_format_version: [1],
    worker_protocol_version: [1],
    enrollment_token: [server.credentials.enrollment_token, newCredential("enr").text],
    idempotency_key: ["one", "two"],
    ...RESOURCE_VALUES,
  };
  const actors = await server.call("GET", "/v1/actors");
  const secret = await server.call("POST", "/v1/secrets", { body: { name: "FUZZED", value: "kept" } });
  const ids = {
    "/runs/": runs,
    "/deployments/": [deployment.id],
    "/tokens/": tokens.map(({ id }) => id),
    "/tasks/": [tasks.body.tasks[0].id, TASK],
    "/schedules/": [schedule.body.id],
    "/error-groups/": [await insertErrorGroup(server, server.credentials.environment_id)],
    "/secrets/": [secret.body.id],
    "/actors/": [actors.body.actors[0].id, ACTOR],
  };
  return { known, sessions, ids, workspaceIds: workspaces.idsFor };
}

/** Tokens that no other operation has settled, and what a request says of them. */
async function ownTokens(
  server: ApiServer,
  path: string,
): Promise<{ fields: Record<string, unknown[]>; credentials: string[] }> {
  if (!path.includes("/tokens/{id}/")) return { fields: {}, credentials: [] };
  const own = await createTokens(server, 3);
  return {
    fields: {
      id: [...own.map(({ id }) => id), encodeId("tok", MISSING)],
      secret: own.map((token) => token.callback_url.split("/").at(-1)),
    },
    credentials: own.map((token) => token.public_access_token),
  };
}

export async function makeFuzzScene(server: ApiServer): Promise<FuzzScene> {
  const worker = await startWorker(server);
  const { known, sessions, ids: objects, workspaceIds } = await makeObjects(server, worker);
  const there = await addForeignPlace(server);
  const foreignKey = await addApiKey(server, PERMISSIONS, { environmentId: there.environmentId });
  const readKey = await addApiKey(server, ["runs.read"]);
  const { member, leaver, person, organization, key, invitation } = await addPeople(server);
  const installation = fuzzedInstallation(await makeInstallation(server), person.user_id);
  const ids = {
    ...objects,
    "/api-keys/": [key],
    "/invitations/": [invitation],
    ...installation.ids,
  };
  const accessTokens = await createAccessTokens(server, sessions);
  const { body: document } = await server.call("GET", "/openapi.json", { as: null });
  const { api_key, user_token, admin_key, capacity_key, enrollment_token } = server.credentials;
  const leasedRuns: string[] = [];

  return {
    document,
    leasedRuns,
    prepare: async (operation, path) => {
      const schemes = (operation.security ?? []).flatMap((one: object) => Object.keys(one)) as string[];
      const fresh = schemes.includes("workerToken") ? await enrollWorker(server) : null;
      const leased =
        fresh !== null && path.includes("/executions/")
          ? await leaseRun(server, fresh.token, leasedRuns)
          : {};
      const own = await ownTokens(server, path);
      const isUsers = schemes.includes("userSession");
      const selection = isUsers ? selectionOf(server, there, organization, person.user_id) : {};
      const fitting = (): string[] => {
        if (schemes.includes("completionToken")) return own.credentials;
        if (schemes.includes("publicAccessToken")) return accessTokens;
        if (fresh !== null) return [fresh.token];
        if (path === "/api/auth/logout") return [leaver];
        if (schemes.includes("adminKey")) return [admin_key, user_token, capacity_key];
        return [...(schemes.includes("apiKey") ? [api_key] : []), ...(isUsers ? [user_token, member] : [])];
      };
      const named = workspaceIds(path, operation.operationId) ?? idsIn(ids, path);
      return {
        scene: {
          document,
          known: {
            ...known,
            ...installation.fields,
            id: named,
            ...(path.includes("{workspace_id}") ? { workspace_id: named } : {}),
            ...sessionFields(path, sessions),
            ...selection,
            ...leased,
            ...own.fields,
          },
        },
        callers: {
          fitting: fitting(),
          others: [foreignKey, readKey, worker, admin_key, capacity_key, enrollment_token, leaver],
        },
      };
    },
  };
}
