// A new master key: what was given out under the one before stays as it was, and a server that still has that one stores nothing.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { loadConfig } from "../../src/config.ts";
import { changeMasterKey } from "../../src/index.ts";
import { startServer } from "../../src/server.ts";
import { startApiServer, TEST_MASTER_KEY, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { makeTestFolder, removeTestFolder } from "../support/test-folder.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const NEXT_KEY = randomBytes(32);
const pathOf = (url: string): string => new URL(url).pathname;

let database: TestDatabase;
let scene: RunScene;
let earlier: ApiServer;
let present: ApiServer;
const made: Record<"token" | "access" | "run", Json> = { token: null, access: null, run: null };

async function create(server: ApiServer, path: string, body: object): Promise<Json> {
  const answer = await server.call("POST", path, { as: earlier.credentials.api_key, body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

const token = { idempotency_key: "token" };
let access: object;
let createdInRun: Json;

before(async () => {
  database = await createTestDatabase();
  scene = await startRunScene(
    { tasks: [{ id: "plain" }, { id: "secretive", secrets: ["SECRET"] }], actors: [{ id: "chat" }] },
    { database },
  );
  earlier = scene.server;
  const lease = await scene.leased();
  const session = await create(earlier, "/v1/sessions", { actor: "chat" });
  const scope = { type: "session.output.read", session: { type: "id", id: session.id }, stream: "output" };
  access = { scope, idempotency_key: "access" };
  made.token = await create(earlier, "/v1/tokens", token);
  made.access = await create(earlier, "/api/public-access-tokens", access);
  await putSecret(earlier, "one");
  createdInRun = lease.operation("tokens", { position: 1, timeout: "1h" });
  await report(earlier, [lease.operation("start")]);
  made.run = (await report(earlier, [createdInRun]))[0].result.value;

  const keys = { present: TEST_MASTER_KEY, next: NEXT_KEY };
  assert.equal(await changeMasterKey({ databaseUrl: database.url, dataDir: earlier.dataDir, keys }), 1);
  present = await startApiServer({
    database: { ...database, drop: async () => undefined },
    config: { masterKey: NEXT_KEY },
  });
});
after(async () => {
  await present.stop();
  await scene.stop();
});

async function report(server: ApiServer, operations: Json[]): Promise<Json[]> {
  const answer = await server.call("POST", "/worker/v1/executions/report", {
    as: scene.worker.token,
    body: { operations },
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.body.results;
}

const putSecret = (server: ApiServer, value: string) =>
  server.call("PUT", "/api/secrets/SECRET", { as: earlier.credentials.api_key, body: { value } });

test("repeats and replays are told the credentials that were given out", async () => {
  const repeated = await create(present, "/v1/tokens", token);
  assert.equal(repeated.public_access_token, made.token.public_access_token);
  assert.equal(pathOf(repeated.callback_url), pathOf(made.token.callback_url));
  assert.deepEqual(await create(present, "/api/public-access-tokens", access), made.access);
  const [replayed] = await report(present, [createdInRun]);
  assert.equal(pathOf(replayed.result.value.callback_url), pathOf(made.run.callback_url));
  const called = await present.call("POST", pathOf(replayed.result.value.callback_url), { as: null });
  assert.deepEqual([called.status, called.body.token.id], [200, made.run.id]);
});

test("new credentials are of the new key, are repeated, and show no number of it", async () => {
  const body = { idempotency_key: "of the new key" };
  const created = await create(present, "/v1/tokens", body);
  assert.deepEqual(Object.keys(created), Object.keys(made.token));
  assert.equal((await create(present, "/v1/tokens", body)).public_access_token, created.public_access_token);
  const called = await present.call("POST", pathOf(created.callback_url), { as: null });
  assert.deepEqual([called.status, called.body.token.id], [200, created.id]);
});

test("a server that has the key from before neither stores nor gives a secret, and says what to do", async () => {
  const refused = await putSecret(earlier, "lost");
  assert.deepEqual([refused.status, refused.body.error.code], [503, "unavailable"]);
  assert.match(refused.body.error.message, /master key was changed.*Restart the server with the new key/);
  const created = await create(present, "/v1/tokens", { idempotency_key: "not known there" });
  const repeated = await earlier.call("POST", "/v1/tokens", {
    as: earlier.credentials.api_key,
    body: { idempotency_key: "not known there" },
  });
  assert.deepEqual([repeated.status, created.status], [503, "pending"]);

  const run = await scene.start("secretive");
  const requestId = randomUUID();
  const lease = (server: ApiServer) =>
    server.call("POST", "/worker/v1/executions/lease", {
      as: scene.worker.token,
      body: { lease_request_id: requestId, limit: 10, wait: "10s" },
    });
  assert.equal((await lease(earlier)).status, 503);
  assert.equal((await putSecret(present, "two")).status, 200);
  const { body } = await lease(present);
  const given = body.executions.find((one: Json) => one.run.id === run.id);
  assert.deepEqual(given?.secrets, { SECRET: "two" });
});

test("a start without the key makes none beside a database that has one", async () => {
  const dataDir = await makeTestFolder();
  const config = { ...loadConfig({ PORT: "0" }), databaseUrl: database.url, dataDir, logLevel: "error" };
  await assert.rejects(startServer(config), /was set up with a master key, and .* has no master\.key/);
  assert.ok(!(await readdir(dataDir)).includes("master.key"));
  await removeTestFolder(dataDir);
});
