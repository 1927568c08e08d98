// A server that cannot listen for notifications, but is answered by PostgreSQL otherwise, is not absent: it still finds out
// who is silent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startPostgresProxy, type PostgresProxy } from "../crash/support/postgres-proxy.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase } from "../support/database.ts";
import { createReadyDeployment, promote } from "../support/deploy.ts";
import { enrollWorker } from "../support/raw-worker.ts";
import { until } from "../support/until.ts";

const LEASE_MS = 1_000;
/** After it a server that PostgreSQL does not answer takes itself for absent. */
const ABSENT_MS = 4_500;

let proxy: PostgresProxy;
let server: ApiServer;
before(async () => {
  const database = await createTestDatabase();
  proxy = await startPostgresProxy(database.url);
  server = await startApiServer({
    database,
    config: { databaseDirectUrl: proxy.url, leaseDurationMs: LEASE_MS },
  });
});
after(async () => {
  await proxy?.close();
  await server?.stop();
});

test("a server that hears no notifications takes silence for death all the same", async () => {
  const silent = await enrollWorker(server);
  const { id: deploymentId } = await createReadyDeployment(server, silent.token, {
    tasks: [{ id: "plain" }],
  });
  await promote(server, deploymentId);
  const other = await enrollWorker(server);
  proxy.silence();
  const silencedAt = performance.now();
  await until("nothing was heard for long", ABSENT_MS, async () => {
    await other.call("POST", "/heartbeat", {});
    return performance.now() - silencedAt > ABSENT_MS;
  });
  const started = await server.call("POST", "/v1/tasks/plain/start", { body: {} });
  assert.equal(started.status, 201, started.text);
  await silent.takeOne();
  await until("the run is taken back", 10_000, async () => {
    await other.call("POST", "/heartbeat", {});
    const { body } = await server.call("GET", `/v1/runs/${started.body.id}`);
    return body.status === "queued";
  });
});
