import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, encodeId, PERMISSIONS, type Uuid } from "@keelson/contract";
import { hash, randomUUID } from "node:crypto";
import { sql } from "../../src/db/sql.ts";
import { csrfTokenOf } from "../../src/http/edge/authenticate/csrf.ts";
import type { Route } from "../../src/http/edge/route.ts";
import { routes } from "../../src/http/routes.ts";
import { newestEvent } from "../support/audit.ts";
import { insertMessage } from "../support/message-row.ts";
import { insertSavedView } from "../support/saved-view.ts";
import { insertErrorGroup } from "../support/failed-run.ts";
import { digestOf, startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";
import { isLong, newSeed } from "../support/seeded-random.ts";
import {
  addApiKey,
  addEnrollmentToken,
  addForeignPlace,
  addPerson,
  firstOrganization,
  newCredential,
  type Place,
} from "../support/tenancy.ts";
import { makeCallers, type Caller, type Secrets } from "./support/callers.ts";
import { expected, isElsewhere } from "./support/expected-answers.ts";
import { leaseRuns, NARROW, NARROW_PERMISSIONS } from "./support/leased-runs.ts";
import { makeInstallation, type InstallationIds } from "./support/installation-rows.ts";
import { makeWorkspaces } from "./support/matrix-workspaces.ts";
import { ABSENT, MALFORMED } from "./support/unknown-ids.ts";
import { pathOf, ROWS, type Ids, type Row, type Whose } from "./authorization-rows.ts";

const seed = newSeed();
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

/** Someone, a key and an invitation of an organization. */
async function addPeople(organizationId: Uuid<"org">, environmentId: Uuid<"env">) {
  const { user_id } = await addPerson(server, "viewer", { organizationId });
  const digest = hash("sha256", await addApiKey(server, [], { environmentId }), "buffer");
  const [row] = await server.db.query<{ id: string }>(sql`SELECT id FROM api_keys WHERE digest = ${digest}`);
  const invitationId = randomUUID();
  await server.db.query(sql`
    INSERT INTO invitations (digest, id, organization_id, email, role, expires_at, created_at, updated_at)
    VALUES (${newCredential("inv").digest}, ${invitationId}, ${organizationId}, ${`${invitationId}@example.com`}, 'viewer',
      now() + interval '1 day', now(), now())`);
  return {
    user: user_id,
    key: encodeId("key", row?.id as string),
    invitation: encodeId("inv", invitationId),
  };
}

/** What is handed out for each place's token and session. */
const secrets: Secrets = { publicTokens: [], accessTokens: [] };

async function mintAccessTokens(
  view: ApiServer,
  whose: Whose,
  { session, run }: { session: string; run: string },
): Promise<void> {
  for (const [type, stream] of [
    ["session.input.send", "input"],
    ["session.output.read", "output"],
    ["session.messages.read", "output"],
    ["session.interrupt", "output"],
    ["session.files.read", undefined],
    ["session.files.write", undefined],
    ["session.chat", undefined],
    ["run.read", undefined],
  ] as const) {
    const target = type === "run.read" ? { run } : { session: { type: "id", id: session } };
    const scope = { type, ...target, ...(stream && { stream }) };
    const { status, body, text } = await view.call("POST", "/api/public-access-tokens", { body: { scope } });
    assert.equal(status, 201, text);
    secrets.accessTokens.push({ whose, permission: type, credential: body.public_access_token });
  }
}

async function fill(
  view: ApiServer,
  worker: string,
  whose: "own" | "foreign",
): Promise<
  Omit<
    Ids,
    "environment" | "project" | "user" | "key" | "invitation" | "organizationEvent" | keyof InstallationIds
  >
> {
  const deployment = await createReadyDeployment(view, worker, {
    tasks: [{ id: "report" }, { id: NARROW, permissions: NARROW_PERMISSIONS }],
    actors: [{ id: "chat" }],
  });
  await promote(view, deployment.id);
  const started = await view.call("POST", "/v1/tasks/report/start", { body: {} });
  assert.equal(started.status, 201, started.text);
  const tasks = await view.call("GET", "/v1/tasks");
  const schedule = await view.call("POST", "/api/schedules", {
    body: { deduplication_key: "own", task: "report", cron: "0 0 1 1 *" },
  });
  assert.equal(schedule.status, 201, schedule.text);
  const bulk = await view.call("POST", "/v1/runs/bulk-actions", {
    body: { action: "cancel", run_ids: [ABSENT.run] },
  });
  assert.equal(bulk.status, 202, bulk.text);
  const name = `OF_${view.credentials.api_key.slice(-6)}`;
  const secret = await view.call("POST", "/v1/secrets", { body: { name, value: "own" } });
  assert.equal(secret.status, 201, secret.text);
  const token = await view.call("POST", "/v1/tokens", { body: {} });
  assert.equal(token.status, 201, token.text);
  secrets.publicTokens.push({ whose, credential: token.body.public_access_token });
  const actors = await view.call("GET", "/v1/actors");
  const externalId = `chat of ${started.body.environment_id}`;
  const session = await view.call("POST", "/v1/sessions", {
    body: { actor: "chat", external_id: externalId, input: 1 },
  });
  assert.equal(session.status, 201, session.text);
  await mintAccessTokens(view, whose, { session: session.body.id, run: started.body.id });
  return {
    ...(await makeWorkspaces(view)),
    actor: actors.body.actors[0].id,
    session: session.body.id,
    externalId,
    message: await insertMessage(view, session.body.id),
    file: await uploadFile(view, session.body.id),
    secret: secret.body.id,
    secretName: name,
    schedule: schedule.body.id,
    errorGroup: await insertErrorGroup(view, started.body.environment_id),
    savedView: await insertSavedView(view, started.body.environment_id),
    deployment: deployment.id,
    run: started.body.id,
    bulkAction: bulk.body.id,
    task: tasks.body.tasks[0].id,
    bundle: await uploadOwnBundle(view),
    lease: ABSENT.lease,
    token: token.body.id,
  };
}

async function uploadFile(view: ApiServer, session: string): Promise<string> {
  const bytes = new TextEncoder().encode(`of ${session}`);
  const answer = await view.call("PUT", `/v1/sessions/${session}/files/${digestOf(bytes)}`, { bytes });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
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

const rowOf = (route: Route): Row => {
  const row = ROWS[route.operationId] ?? (route.operationId.startsWith("getConsole") ? {} : undefined);
  assert.ok(row, `${route.method} ${route.path} (${route.operationId}) has no row in authorization-rows.ts`);
  return row;
};

const namesObject = (row: Row): boolean => row.object !== undefined || row.refusal !== undefined;

/** What the caller says of where it acts, on a route that asks. */
function selectionOf({ family, access }: Route, { at }: Caller): Record<string, string> {
  if (at === null || at === undefined) return {};
  const { organization_id, project_id, environment_id } = at;
  if (access.kind === "organization") return { organization_id };
  return family === "api" && access.kind === "environment" ? { project_id, environment_id } : {};
}

function credentialHeaders({ credential, cookie }: Caller): Record<string, string> {
  if (cookie === undefined || credential === null) return {};
  const headers = { cookie: `other=1; keelson_session=${credential}`, origin: server.url };
  return cookie === "with token"
    ? { ...headers, "x-csrf-token": csrfTokenOf(credential) }
    : { ...headers, origin: "https://elsewhere.example" };
}

function call(route: Route, row: Row, caller: Caller, whose: Whose): Promise<Answer> {
  const isInBody = route.rawBody === undefined && route.method !== "GET" && route.method !== "DELETE";
  const at = selectionOf(route, caller);
  const path = pathOf(route, row, ids[whose], isInBody ? {} : at);
  const body = isInBody ? { ...row.body?.(ids[whose]), ...at } : undefined;
  return server.call(route.method, path, {
    as: caller.cookie === undefined ? caller.credential : null,
    headers: { "x-request-id": "matrix", ...credentialHeaders(caller) },
    ...(row.bytes === undefined ? {} : { bytes: row.bytes }),
    ...(body === undefined ? {} : { body }),
  });
}

function checkThrough(route: Route, row: Row, caller: Caller, whose: Whose, answer: Answer): void {
  const isOwn = (whose === "own") !== isElsewhere(route, caller) || !namesObject(row);
  if (whose !== "own" && whose !== "foreign" ? namesObject(row) : !isOwn) {
    assert.equal(answer.status, row.refusal ?? 404, answer.text);
    return;
  }
  assert.ok(row.own?.includes(answer.status) ?? answer.status < 300, `${answer.status} ${answer.text}`);
}

/** Enough that the server has always something to do. */
const AT_ONCE = 8;

/** Does it for all items, for so many at once. */
async function eachOf<Item>(
  items: readonly Item[],
  atOnce: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const work = async (): Promise<void> => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function everyKind(row: Row): Whose[] {
  if (row.isGlobal === true) return ["own", "absent", "malformed"];
  if (row.object !== undefined) return ["own", "foreign", "absent", "malformed"];
  return namesObject(row) ? ["own", "foreign", "absent"] : ["own"];
}

/** In the short form the n-th of so many callers asks for the n-th kind, and those past the last kind for none. */
const TURNS = 8;

/**
 * The kinds of objects that a caller asks for. A caller whom the route refuses before it looks for an object always asks for
 * its own; in the short form the callers take turns with the other kinds.
 */
function kindsOf(route: Route, row: Row, caller: Caller, at: number): Whose[] {
  const kinds = everyKind(row);
  if (isLong() || expected(route, caller, "own") !== 401) return kinds;
  const turn = (seed + at) % TURNS;
  return kinds.filter((_, kind) => kind === 0 || kind === turn);
}

function checkStatus(route: Route, row: Row, caller: Caller, whose: Whose, answer: Answer): void {
  const through = expected(route, caller, whose);
  const lacks = row.gives !== undefined && caller.permissions?.includes(row.gives) === false;
  const status = through === "through" && lacks ? 403 : through;
  if (status === "through") checkThrough(route, row, caller, whose, answer);
  else assert.equal(answer.status, status, answer.text);
  if (answer.status === 403 && caller.cookie === "without token")
    assert.equal(answer.body.error.code, "csrf_rejected");
  else if (answer.status === 403)
    assert.ok(
      route.access.kind === "public_access" || route.access.kind === "public_run_access"
        ? answer.body.error.code === "scope_mismatch"
        : "permission" in route.access &&
            answer.body.error.details.permission ===
              (through === "through" ? row.gives : route.access.permission),
    );
}

/** Has the caller ask for objects of these kinds. */
async function checkCaller(route: Route, row: Row, caller: Caller, kinds: readonly Whose[]): Promise<void> {
  const answers = new Map<Whose, string>();
  for (const whose of kinds) {
    const answer = await call(route, row, caller, whose);
    answers.set(whose, answer.text);
    try {
      checkStatus(route, row, caller, whose, answer);
    } catch (error) {
      throw new Error(`${caller.name}, ${whose}: ${(error as Error).message}`, { cause: error });
    }
  }
  const alike = namesObject(row) ? alikeFor(route, caller, kinds) : [];
  const texts = new Set(alike.map((whose) => answers.get(whose)));
  assert.ok(
    texts.size <= 1,
    `${caller.name}: ${alike.join(" and ")} are told apart: ${[...texts].join("\n")}`,
  );
}

/** What the caller must not be able to tell apart. */
function alikeFor(route: Route, caller: Caller, kinds: readonly Whose[]): readonly Whose[] {
  if (expected(route, caller, "own") === 401) return kinds;
  const ofOthers = isElsewhere(route, caller) ? "own" : "foreign";
  return kinds.filter((kind) => kind === "absent" || kind === "malformed" || kind === ofOthers);
}

describe("who may do what", () => {
  before(async () => {
    // Nobody renews the leases of the runs whose tokens are tried.
    server = await startApiServer({ config: { leaseDurationMs: 3_600_000 } });
    const there = await addForeignPlace(server);
    foreign = await foreignView(there);
    const [worker, foreignWorker] = [await startWorker(server), await startWorker(foreign, "foreign")];
    const installation = await makeInstallation(server);
    const environment = { own: server.credentials.environment_id, foreign: there.environment_id };
    ids = {
      own: {
        ...(await fill(server, worker, "own")),
        ...(await addPeople(
          await firstOrganization(server),
          decodeId("env", environment.own) as Uuid<"env">,
        )),
        ...installation,
        organizationEvent: (await newestEvent(server, installation.organization)).id,
        environment: environment.own,
        project: server.credentials.project_id,
      },
      foreign: {
        ...(await fill(foreign, foreignWorker, "foreign")),
        ...(await addPeople(there.organizationId, there.environmentId)),
        ...installation,
        organizationEvent: (await newestEvent(server, there.organization_id)).id,
        environment: environment.foreign,
        project: there.project_id,
      },
      absent: ABSENT,
      malformed: MALFORMED,
    };
    const foreignKey = foreign.credentials.api_key;
    const runs = await leaseRuns(server, worker, foreign, foreignWorker);
    callers = await makeCallers({ server, there, foreignKey, worker, foreignWorker, secrets, runs });
  });
  after(() => server.stop());

  let checked = 0;
  const inOrder = routes.toSorted(
    (a, b) => Number(rowOf(a).isLast === true) - Number(rowOf(b).isLast === true),
  );
  for (const route of inOrder) {
    test(`${route.method} ${route.path}`, async () => {
      const row = rowOf(route);
      const { access } = route;
      const concerned = callers.filter(
        ({ only }) => only === undefined || (access.kind === "environment" && access.permission === only),
      );
      // What only reads has the same answers in any order.
      await eachOf([...concerned.entries()], route.method === "GET" ? AT_ONCE : 1, async ([at, caller]) => {
        const kinds = kindsOf(route, row, caller, at);
        await checkCaller(route, row, caller, kinds);
        checked += kinds.length;
      });
    });
  }

  test("the count of checks", (context) => {
    context.diagnostic(`KEELSON_TEST_SEED=${seed}`);
    context.diagnostic(`${routes.length} routes, ${callers.length} callers, ${checked} requests`);
    assert.ok(checked > routes.length * callers.length * 0.6);
  });
});
