import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Tx } from "../../src/db/queryable.ts";
import { sql } from "../../src/db/sql.ts";
import { placed } from "../../src/http/edge/places.ts";
import { route } from "../../src/http/edge/route.ts";
import { runRoute, type OpenCall } from "../../src/http/edge/run-route.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let testDatabase: TestDatabase;
let db: Database;
before(async () => {
  testDatabase = await createTestDatabase({ migrated: false });
  db = createDatabase({ url: testDatabase.url, poolSize: 2, statementNames: true });
  await db.query(sql`CREATE TABLE counted (id int PRIMARY KEY)`);
});
after(async () => {
  await db.close();
  await testDatabase.drop();
});

/** What a route answers whose handler does this in what the route declares. */
async function answerOf(work: (tx: Tx) => Promise<unknown>): Promise<unknown> {
  const [served] = placed(
    route({
      in: ["admin"],
      method: "GET",
      path: "/snapshot",
      name: "readSnapshot",
      summary: "Read twice",
      tag: "Test",
      access: { kind: "admin" },
      responses: {},
      transaction: "snapshot",
      handle: async ({ tx }) => ({ status: 200, body: await work(tx) }),
    }),
  );
  assert.ok(served !== undefined);
  const reply = await runRoute(served, { server: { db } } as OpenCall, null);
  return "body" in reply ? reply.body : null;
}

const count = async (tx: Tx): Promise<unknown> =>
  (await tx.query<{ count: number }>(sql`SELECT count(*)::int AS count FROM counted`))[0]?.count;

describe("a route that declares a snapshot", () => {
  test("reads the state of one moment", async () => {
    const other = createDatabase({ url: testDatabase.url, poolSize: 1, statementNames: true });
    const counts = await answerOf(async (tx) => {
      const first = await count(tx);
      await other.query(sql`INSERT INTO counted VALUES (1)`);
      return [first, await count(tx)];
    });
    await other.close();
    assert.deepEqual(counts, [0, 0]);
    assert.equal(await answerOf(count), 1);
  });

  test("writes nothing", async () => {
    const written = answerOf((tx) => tx.query(sql`INSERT INTO counted VALUES (2)`));
    await assert.rejects(written, { code: "25006" });
  });
});
