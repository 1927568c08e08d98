import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId, PERMISSIONS, type Permission } from "@keelson/contract";
import type { Route } from "../../src/http/route.ts";
import { routes } from "../../src/http/routes.ts";
import { digestOf, startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";
import {
  addApiKey,
  addEnrollmentToken,
  addForeignPlace,
  addServiceKey,
  addUser,
  addWorkerToken,
  newCredential,
  place,
  type Place,
} from "../support/tenancy.ts";
import { ROWS, type Ids, type Row, type Whose } from "./authorization-rows.ts";

/** What a kind of caller is to the places of the matrix. `at` is where it says it acts, on /api. */
type Caller = {
  name: string;
  credential: string | null;
  is: "nobody" | "api_key" | "user" | "worker" | "admin" | "capacity";
  permissions?: readonly string[];
  /** Its objects are those that the matrix calls foreign. */
  isForeign?: boolean;
  isAdmin?: boolean;
  at?: { project_id: string; environment_id: string } | null;
  /** Called only on routes that need this permission. */
  only?: Permission;
};

const READS = PERMISSIONS.filter((permission) => permission.endsWith(".read"));
const PAST = new Date(Date.now() - 60_000);
const MISSING = "00000000-0000-7000-8000-000000000000";

let server: ApiServer;
let foreign: ApiServer;
let callers: Caller[];
let ids: Record<Whose, Ids>;

/** The server as someone in another organization sees it. */
async function foreignView(place: Place): Promise<ApiServer> {
  const api_key = await addApiKey(server, PERMISSIONS, { environmentId: place.environmentId });
  const enrollment_token = await addEnrollmentToken(server, place.workerGroupId);
  return {
    ...server,
    credentials: { ...server.credentials, api_key, enrollment_token },
    call: (method, path, options = {}) => server.call(method, path, { as: api_key, ...options }),
  };
}

async function fill(view: ApiServer, worker: string): Promise<Omit<Ids, "environment">> {
  const deployment = await createReadyDeployment(view, worker, { tasks: [{ id: "report" }] });
  await promote(view, deployment.id);
  const started = await view.call("POST", "/v1/tasks/report/start", { body: {} });
  assert.equal(started.status, 201, started.text);
  const tasks = await view.call("GET", "/v1/tasks");
  return {
    deployment: deployment.id,
    run: started.body.id,
    task: tasks.body.tasks[0].id,
    bundle: await uploadOwnBundle(view),
    lease: encodeId("lease", MISSING),
  };
}

/** Bytes that no other worker group has. */
async function uploadOwnBundle(view: ApiServer): Promise<string> {
  const bytes = new TextEncoder().encode(
    `export const owner = ${JSON.stringify(view.credentials.api_key.slice(-6))};\n`,
  );
  const digest = digestOf(bytes);
  const answer = await view.call("PUT", `/v1/deployment-bundles/${digest}`, { bytes });
  assert.equal(answer.status, 200, answer.text);
  return digest;
}

/** For each permission that a route needs: a key that lacks only it, and one that has only it. */
async function makePermissionKeys(): Promise<Caller[]> {
  const used = new Set(
    routes.flatMap(({ access }) => (access.kind === "environment" ? [access.permission] : [])),
  );
  const perPermission = await Promise.all(
    [...used].map(async (permission) => {
      const others = PERMISSIONS.filter((other) => other !== permission);
      return [
        { ...key(`a key without ${permission}`, await addApiKey(server, others), others), only: permission },
        {
          ...key(`a key with only ${permission}`, await addApiKey(server, [permission]), [permission]),
          only: permission,
        },
      ];
    }),
  );
  return perPermission.flat();
}

const key = (name: string, credential: string, permissions: readonly string[] = PERMISSIONS): Caller => ({
  name,
  credential,
  is: "api_key",
  permissions,
});

async function makeCallers(there: Place, worker: string, foreignWorker: string): Promise<Caller[]> {
  const at = place(server);
  const user = (
    name: string,
    credential: string,
    permissions: readonly string[],
    extra: Partial<Caller> = {},
  ): Caller => ({
    name,
    credential,
    is: "user",
    permissions,
    at,
    ...extra,
  });
  const nobody = (name: string, credential: string | null): Caller => ({
    name,
    credential,
    is: "nobody",
    at: null,
  });
  const { api_key, user_token, admin_key, capacity_key, enrollment_token } = server.credentials;
  return [
    nobody("nobody", null),
    nobody("garbage", "garbage"),
    nobody("a key with a wrong check digit", `${api_key.slice(0, -1)}${api_key.endsWith("A") ? "B" : "A"}`),
    nobody("an unknown key", newCredential("key").text),
    nobody("an expired key", await addApiKey(server, PERMISSIONS, { expiresAt: PAST })),
    nobody("a revoked key", await addApiKey(server, PERMISSIONS, { revokedAt: PAST })),
    nobody("an expired session", await addUser(server, "owner", { expiresAt: PAST })),
    nobody("an expired worker token", await addWorkerToken(server, worker, PAST)),
    nobody("an enrollment token", enrollment_token),
    key("a key", api_key),
    ...(await makePermissionKeys()),
    { ...key("a key of another environment", foreign.credentials.api_key), isForeign: true },
    user("the first owner", user_token, PERMISSIONS, { isAdmin: true }),
    user("an owner", await addUser(server, "owner"), PERMISSIONS),
    user("an admin of the organization", await addUser(server, "admin"), PERMISSIONS),
    user("a developer", await addUser(server, "developer"), PERMISSIONS),
    user("a viewer", await addUser(server, "viewer"), READS),
    user("an owner who does not say where", await addUser(server, "owner"), PERMISSIONS, { at: null }),
    user("an owner in a foreign place", await addUser(server, "owner"), PERMISSIONS, {
      at: { project_id: there.project_id, environment_id: there.environment_id },
      isForeign: true,
      permissions: [],
    }),
    user("a stranger", await addUser(server, null), [], { isForeign: true }),
    { name: "a worker", credential: worker, is: "worker", at: null },
    { name: "a worker of another group", credential: foreignWorker, is: "worker", isForeign: true, at: null },
    { name: "the admin key", credential: admin_key, is: "admin", at: null },
    { name: "the capacity key", credential: capacity_key, is: "capacity", at: null },
    nobody("an expired admin key", await addServiceKey(server, "admin", PAST)),
  ];
}

const rowOf = (route: Route): Row => {
  const row = ROWS[route.operationId] ?? (route.operationId.startsWith("getConsole") ? {} : undefined);
  assert.ok(row, `${route.method} ${route.path} (${route.operationId}) has no row in authorization-rows.ts`);
  return row;
};

const namesObject = (row: Row): boolean => row.object !== undefined || row.refusal !== undefined;

function call(route: Route, row: Row, caller: Caller, whose: Whose): Promise<Answer> {
  const value = row.object?.(ids[whose]) ?? row.parameter ?? "";
  let path = route.path.replace(/:\w+/, value);
  const isInBody = route.rawBody === undefined && route.method !== "GET" && route.method !== "DELETE";
  const at = route.family === "api" && route.access.kind === "environment" ? (caller.at ?? {}) : {};
  if (!isInBody && Object.keys(at).length > 0)
    path += `?${new URLSearchParams(at as Record<string, string>).toString()}`;
  const body = isInBody ? { ...row.body?.(ids[whose]), ...at } : undefined;
  return server.call(route.method, path, {
    as: caller.credential,
    headers: { "x-request-id": "matrix" },
    ...(row.bytes === undefined ? {} : { bytes: row.bytes }),
    ...(body === undefined ? {} : { body }),
  });
}

/** What the route's declaration says of the caller: a status, or `through` to the handler. */
function expected({ access, family }: Route, caller: Caller): number | "through" {
  switch (access.kind) {
    case "public":
      return "through";
    case "environment": {
      if (caller.is === "api_key")
        return caller.permissions?.includes(access.permission) === true ? "through" : 403;
      if (caller.is !== "user" || family !== "api") return 401;
      if (caller.at === null) return 400;
      if (caller.isForeign === true) return 404;
      return caller.permissions?.includes(access.permission) === true ? "through" : 403;
    }
    case "user":
      return caller.is === "user" ? "through" : 401;
    case "worker":
      return caller.is === "worker" ? "through" : 401;
    case "admin":
      return caller.is === "admin" || caller.isAdmin === true ? "through" : 401;
    case "capacity":
      return caller.is === "capacity" || caller.is === "admin" ? "through" : 401;
  }
}

function checkThrough(row: Row, caller: Caller, whose: Whose, answer: Answer): void {
  const isOwn = (whose === "own") !== (caller.isForeign === true) || !namesObject(row);
  if (whose !== "own" && whose !== "foreign" ? namesObject(row) : !isOwn) {
    assert.equal(answer.status, row.refusal ?? 404, answer.text);
    return;
  }
  assert.ok(row.own?.includes(answer.status) ?? answer.status < 300, `${answer.status} ${answer.text}`);
}

describe("who may do what", () => {
  before(async () => {
    server = await startApiServer();
    const there = await addForeignPlace(server);
    foreign = await foreignView(there);
    const [worker, foreignWorker] = [await startWorker(server), await startWorker(foreign, "foreign")];
    const environment = { own: server.credentials.environment_id, foreign: there.environment_id };
    ids = {
      own: { ...(await fill(server, worker)), environment: environment.own },
      foreign: { ...(await fill(foreign, foreignWorker)), environment: environment.foreign },
      absent: {
        run: encodeId("run", MISSING),
        task: encodeId("task", MISSING),
        deployment: encodeId("dep", MISSING),
        bundle: "0".repeat(64),
        environment: encodeId("env", MISSING),
        lease: encodeId("lease", MISSING),
      },
      malformed: { run: "run_1", task: "task 1", deployment: "x", bundle: "1", environment: "e", lease: "l" },
    };
    callers = await makeCallers(there, worker, foreignWorker);
  });
  after(() => server.stop());

  let checked = 0;
  for (const route of routes) {
    test(`${route.method} ${route.path}`, async () => {
      const row = rowOf(route);
      const kinds: Whose[] =
        row.object !== undefined
          ? ["own", "foreign", "absent", "malformed"]
          : namesObject(row)
            ? ["own", "foreign", "absent"]
            : ["own"];
      for (const caller of callers) {
        if (
          caller.only !== undefined &&
          !(route.access.kind === "environment" && route.access.permission === caller.only)
        )
          continue;
        const answers = new Map<Whose, Answer>();
        for (const whose of kinds) {
          const answer = await call(route, row, caller, whose);
          checked += 1;
          answers.set(whose, answer);
          const told = `${caller.name}, ${whose}`;
          const status = expected(route, caller);
          try {
            if (status === "through") checkThrough(row, caller, whose, answer);
            else assert.equal(answer.status, status, answer.text);
            if (answer.status === 403)
              assert.ok(
                route.access.kind === "environment" &&
                  answer.body.error.details.permission === route.access.permission,
              );
          } catch (error) {
            throw new Error(`${told}: ${(error as Error).message}`, { cause: error });
          }
        }
        if (!namesObject(row)) continue;
        const elsewhere = caller.isForeign === true ? "own" : "foreign";
        for (const whose of kinds.filter((kind) => kind === "malformed" || kind === elsewhere)) {
          assert.equal(
            answers.get(whose)?.text,
            answers.get("absent")?.text,
            `${caller.name}: ${whose} and absent are told apart`,
          );
        }
      }
    });
  }

  test("the count of checks", (context) => {
    context.diagnostic(`${routes.length} routes, ${callers.length} callers, ${checked} requests`);
    assert.ok(checked > routes.length * callers.length * 0.7);
  });
});
