import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { bytesThatOutliveScavenges } from "../../../contract/test/support/outlives-scavenges.ts";
import { ask } from "../../src/db/ask.ts";
import { isSilence } from "../../src/db/connection-error.ts";
import { openSession } from "../../src/db/open-session.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const ANSWER_MS = 60_000;
const ROWS = 200;
const WORD = "a word that is repeated, ".repeat(10);
const WORDS = sql`SELECT ${WORD} || number AS word FROM generate_series(1, ${ROWS}) AS number`;
/** What its rows are, at least. */
const BYTES = ROWS * WORD.length;

describe("a statement that is asked", () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let session: pg.Client;
  before(async () => {
    testDatabase = await createTestDatabase({ migrated: false });
    database = createDatabase({ url: testDatabase.url, poolSize: 4, statementNames: true });
    session = await openSession({ url: testDatabase.url, applicationName: "keelson test" });
  });
  after(async () => {
    await session?.end();
    await database?.close();
    await testDatabase?.drop();
  });

  for (const [what, read] of [
    ["alone", () => database.query(WORDS)],
    ["in a transaction", () => database.transaction((tx) => tx.query(WORDS))],
  ] as const) {
    test(`leaves none of its rows behind: ${what}`, async () => {
      for (const time of [1, 2, 3]) {
        const kept = await bytesThatOutliveScavenges(100, read);
        assert.ok(kept < BYTES / 2, `time ${time}: ${kept} of ${BYTES} bytes are kept`);
      }
    });
  }

  test("rejects with an error that says where it was asked", async () => {
    const asked = ask(session, "SELECT 1 / 0", ANSWER_MS);
    await assert.rejects(asked, ({ message, stack = "" }: Error) => {
      assert.match(message, /division by zero/);
      assert.match(stack, /at ask /);
      assert.doesNotMatch(stack, /onStreamRead/);
      return true;
    });
  });

  test("ends its connection when the answer does not come in time, with all that was sent behind it", async () => {
    const silent = await openSession({ url: testDatabase.url, applicationName: "keelson test" });
    const asked = ask(silent, "SELECT pg_sleep(600)", 50);
    const behind = ask(silent, "SELECT 1", ANSWER_MS);
    await assert.rejects(asked, isSilence);
    await assert.rejects(behind, /Connection terminated/);
    await assert.rejects(ask(silent, "SELECT 1", ANSWER_MS), /not queryable/);
  });

  test("has its time from the answer to what was sent before it", async (context) => {
    const holder = await openSession({ url: testDatabase.url, applicationName: "keelson test" });
    const waiter = new pg.Client({ connectionString: testDatabase.url, pipeline: true });
    await waiter.connect();
    context.after(() => Promise.all([holder.end(), waiter.end()]));
    await holder.query("SELECT pg_advisory_lock(1), pg_advisory_lock(2)");
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const first = ask(waiter, "SELECT pg_advisory_xact_lock(1)", ANSWER_MS);
    const second = ask(waiter, "SELECT pg_advisory_xact_lock(2)", ANSWER_MS);
    context.mock.timers.tick(ANSWER_MS * 0.6);
    await holder.query("SELECT pg_advisory_unlock(1)");
    await first;
    context.mock.timers.tick(ANSWER_MS * 0.6);
    await holder.query("SELECT pg_advisory_unlock(2)");
    assert.equal((await second).rowCount, 1);
  });
});
