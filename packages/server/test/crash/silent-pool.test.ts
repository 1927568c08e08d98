// A pool whose connections fell silent while more callers come than it has connections.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isConnectionError } from "../../src/db/connection-error.ts";
import { createDatabase } from "../../src/db/pool.ts";
import { REQUEST_LIMITS } from "../../src/db/session-settings.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase } from "../support/database.ts";
import { startPostgresProxy } from "./support/postgres-proxy.ts";
import { isLong } from "../support/seeded-random.ts";

/** A tenth of what a request has. */
const LIMITS = {
  ...REQUEST_LIMITS,
  ...{ connectMs: 300, poolWaitMs: 30_000, stalledMs: 1_000, answerMs: 900, firstAnswerMs: 1_400 },
};
const BOUND_MS = 2_500;
const CALLERS = 60;

test("callers who find idle connections that are silent wait no longer than others", async () => {
  const testDatabase = await createTestDatabase({ migrated: false });
  const proxy = await startPostgresProxy(testDatabase.url);
  const database = createDatabase({
    ...{ url: proxy.url, poolSize: 4, statementNames: true, limits: LIMITS },
    onConnectionLost: () => undefined,
  });
  const read = () => database.query(sql`SELECT 1 AS one`);
  try {
    await Promise.all(Array.from({ length: 8 }, read));
    assert.equal(database.poolCounts().idle, 4);
    proxy.silence();
    database.connectionsAreSuspect();
    const begun = performance.now();
    const took = await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        await assert.rejects(read(), isConnectionError);
        return performance.now() - begun;
      }),
    );
    const slowestMs = Math.round(Math.max(...took));
    console.log(`${CALLERS} callers of a silent database, the slowest refused after ${slowestMs} ms`);
    if (isLong()) assert.ok(slowestMs < BOUND_MS, `a caller waited ${slowestMs} ms`);
    proxy.heal();
    assert.deepEqual(await read(), [{ one: 1 }]);
  } finally {
    proxy.cut();
    await database.close();
    await proxy.close();
    await testDatabase.drop();
  }
});
