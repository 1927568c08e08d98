import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const LOCK = 4_711;

describe("work that one server does at a time", () => {
  let testDatabase: TestDatabase;
  let db: Database;
  before(async () => {
    testDatabase = await createTestDatabase({ migrated: false });
    db = createDatabase({ url: testDatabase.url, poolSize: 2, statementNames: true });
  });
  after(async () => {
    await db.close();
    await testDatabase.drop();
  });

  const isFree = async (): Promise<boolean> => (await db.alone(LOCK, () => Promise.resolve(true))) === true;

  test("is left to the one that does it, and can be begun as soon as that has ended, however it ended", async () => {
    assert.equal(await db.alone(LOCK, isFree), false);
    assert.equal(await isFree(), true);
    assert.equal(
      await db.alone(LOCK, () => db.alone(LOCK + 1, () => Promise.resolve("another lock"))),
      "another lock",
    );
    await assert.rejects(
      db.alone(LOCK, () => Promise.reject(new Error("cannot go on"))),
      /cannot go on/,
    );
    while (!(await isFree())) await new Promise(setImmediate);
  });

  test("is told that it lost its connection, and with it the lock", async () => {
    const outcome = db.alone(LOCK, async (stillAlone) => {
      await stillAlone();
      await db.query(sql`
        SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE application_name = 'keelson alone' AND datname = current_database()`);
      assert.equal(await isFree(), true);
      await stillAlone();
    });
    await assert.rejects(outcome, /terminat|connection/i);
  });
});
