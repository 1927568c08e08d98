import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { startEmbeddedServer, type EmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { routes } from "../../src/http/routes.ts";
import { ROWS } from "../contract/authorization-rows.ts";
import { startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { place } from "../support/tenancy.ts";
import { createTestClock } from "../support/test-clock.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { callRoute, prepareRoutes, type RouteScene } from "./support/route-scene.ts";
import { untilBlocked } from "../support/until-blocked.ts";

/** Public, and in need of the database all the same. */
/** Computed from the question alone: only who asks may have to be looked up. */
const COMPUTED = /^\/api\/schedules\/next-runs$/;
const ASKS_DATABASE = /\/auth\/(token|magic-link\/.*|device\/.*)$|^\/oauth\/|^\/readyz$|\/callback\//;

const clock = createTestClock();
let folder: string;
let postgres: EmbeddedServer;
let server: ApiServer;
let scene: RouteScene;

const startPostgres = (): Promise<EmbeddedServer> =>
  startEmbeddedServer({ dataDir: path.join(folder, "postgres") });

function checkUnavailable(answer: Answer, told: string): void {
  assert.equal(answer.status, 503, `${told}: ${answer.status} ${answer.text}`);
  const { error } = answer.body;
  // Those who speak OAuth have its own word for it.
  if (typeof error === "string") assert.equal(error, "temporarily_unavailable", told);
  else assert.equal(error.code, "unavailable", told);
  assert.equal(answer.headers.get("retry-after"), "1", told);
  assert.doesNotMatch(answer.text, /ENOENT|ECONNREFUSED|terminat|postgres/i, told);
}

async function checkAllRoutes({ callersAreKnown }: { callersAreKnown: boolean }): Promise<void> {
  for (const route of routes) {
    const told = `${route.method} ${route.path}`;
    const answer = await callRoute(scene, server, route);
    const asksNothing =
      (route.access.kind === "public" && !ASKS_DATABASE.test(route.path)) ||
      // On a slow machine the second for which a caller is known may be over by now.
      (callersAreKnown && COMPUTED.test(route.path) && answer.status !== 503);
    if (asksNothing)
      assert.ok((ROWS[route.operationId]?.own ?? [200]).includes(answer.status), `${told}: ${answer.text}`);
    else checkUnavailable(answer, told);
  }
}

/** Holds a lock that a cancellation needs, until the connection ends. */
async function blockRuns(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgres.url });
  // It ends with the server.
  client.on("error", () => {});
  await client.connect();
  await client.query("BEGIN; LOCK TABLE runs IN ACCESS EXCLUSIVE MODE");
  return client;
}

describe("while PostgreSQL is down", { concurrency: false }, () => {
  before(async () => {
    folder = await makeTestFolder();
    postgres = await startPostgres();
    const database = { url: postgres.url, drop: () => postgres.stop() };
    server = await startApiServer({ database, clock: clock.now });
    scene = await prepareRoutes(server);
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  test("a request under way is told that its outcome is unknown", async () => {
    await blockRuns();
    const cancelled = server.call("POST", `/v1/runs/${scene.ids.run}/cancel`);
    await untilBlocked(server.db);
    await postgres.stop();
    checkUnavailable(await cancelled, "cancel");
  });

  test("every route that needs it says so, its caller being known from before or not", async () => {
    await checkAllRoutes({ callersAreKnown: true });
    // Credentials are no longer trusted without a look.
    clock.advance(2_000);
    await checkAllRoutes({ callersAreKnown: false });
    const query = new URLSearchParams(place(server)).toString();
    checkUnavailable(
      await server.call("GET", `/api/runs?${query}`, { as: server.credentials.user_token }),
      "a user",
    );
  });

  test("what is refused without it is refused as ever", async () => {
    const garbage = await server.call("GET", "/v1/runs", { as: "garbage" });
    assert.deepEqual([garbage.status, garbage.body.error.code], [401, "unauthenticated"]);
    assert.equal((await server.call("GET", "/nowhere")).status, 404);
    assert.equal((await server.call("DELETE", "/healthz")).status, 405);
  });

  test("the server goes on by itself when it is back", async () => {
    postgres = await startPostgres();
    const started = await server.call("POST", "/v1/tasks/report/start", { body: {} });
    assert.equal(started.status, 201, started.text);
    assert.equal((await server.call("GET", "/readyz", { as: null })).status, 200);
    const lease = await scene.worker.takeOne();
    assert.equal(lease.runId, started.body.id);
    await scene.worker.finish(lease);
    const run = await server.call("GET", `/v1/runs/${started.body.id}`);
    assert.equal(run.body.status, "succeeded", run.text);
  });
});
