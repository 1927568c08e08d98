// A database that cannot be written for a while: DATABASE_URL leads to a standby that is about to become the primary.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { migrate } from "../../src/db/migrate.ts";
import { quoteIdentifier } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";
import { until } from "../support/until.ts";

describe("a database that is read-only", { concurrency: false }, () => {
  let database: TestDatabase;
  let server: ApiServer;
  before(async () => {
    database = await createTestDatabase();
    server = await startApiServer({ database });
    const { id } = await createReadyDeployment(server, await startWorker(server), { tasks: [{ id: "a" }] });
    await promote(server, id);
  });
  after(() => server?.stop());

  /** As the server that is reached from now on: sessions of before end with the switch. */
  async function setReadOnly(isReadOnly: boolean): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      const { rows } = await client.query<{ name: string }>("SELECT current_database() AS name");
      const name = quoteIdentifier(rows[0]?.name ?? "");
      await client.query("SET default_transaction_read_only = off");
      await client.query(
        `ALTER DATABASE ${name} SET default_transaction_read_only = ${isReadOnly ? "on" : "off"}`,
      );
      await client.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
    } finally {
      await client.end();
    }
  }

  const start = () => server.call("POST", "/v1/tasks/a/start", { body: {} });
  const readiness = async (): Promise<number> => (await server.call("GET", "/readyz", { as: null })).status;

  test("writes are 503 with Retry-After, reads go on, and the server is not ready", async () => {
    assert.equal((await start()).status, 201);
    await setReadOnly(true);
    await until("the server is not ready", 20_000, async () => (await readiness()) === 503);
    for (let call = 0; call < 20; call += 1) {
      const { status, headers, body } = await start();
      assert.deepEqual([status, headers.get("retry-after"), body.error.code], [503, "1", "unavailable"]);
    }
    assert.equal((await server.call("GET", "/api/runs")).status, 200);
    await assert.rejects(
      migrate(database.url),
      /^Error: PostgreSQL is read-only[^\n]+DATABASE_URL[^\n]+primary\.$/,
    );
  });

  test("and it is written again once it can be", async () => {
    await setReadOnly(false);
    await until("a start is accepted", 20_000, async () => (await start()).status === 201);
    assert.equal(await readiness(), 200);
  });
});
