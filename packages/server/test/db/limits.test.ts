import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isConnectionError, isStatementTimeout } from "../../src/db/connection-error.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { REQUEST_LIMITS } from "../../src/db/session-settings.ts";
import { sql } from "../../src/db/sql.ts";
import { SecondConnectionError } from "../../src/db/transaction-places.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { letPass } from "../support/until.ts";

const LIMITS = { ...REQUEST_LIMITS, statementMs: 300, stalledMs: 400 };

for (const statementNames of [true, false]) {
  describe(statementNames ? "limits" : "limits behind a pooler", () => {
    let testDatabase: TestDatabase;
    let database: Database;
    before(async () => {
      testDatabase = await createTestDatabase({ migrated: false });
      database = createDatabase({
        url: testDatabase.url,
        poolSize: 1,
        statementNames,
        limits: LIMITS,
        refuseSecondConnection: true,
      });
      await database.query(sql`CREATE TABLE slept (id int)`);
    });
    after(async () => {
      await database.close();
      await testDatabase.drop();
    });
    const write = sql`INSERT INTO slept SELECT 1 FROM pg_sleep(${0.5}::float8)`;

    test("end a statement that takes too long; its connection is used again, and nothing was written", async () => {
      const read = async (): Promise<unknown> =>
        (await database.query<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`))[0]?.pid;
      const before = await read();
      await assert.rejects(database.query(write), isStatementTimeout);
      await assert.rejects(
        database.transaction((tx) => tx.query(write)),
        isStatementTimeout,
      );
      assert.equal(await read(), before);
      assert.deepEqual(await database.query(sql`SELECT FROM slept`), []);
    });

    test("are wider for a transaction that says so, and for maintenance, and for those alone", async () => {
      await database.transaction((tx) => tx.query(write), { limitMs: 5_000 });
      await database.maintain(sql`VACUUM slept`);
      if (statementNames) await database.maintain(sql`SELECT pg_sleep(0.5)`);
      await assert.rejects(database.query(write), isStatementTimeout);
      assert.equal((await database.query(sql`SELECT FROM slept`)).length, 1);
    });

    test("end the wait for a connection that nobody gives back, and not that of a queue that moves", async () => {
      const isHeld = Promise.withResolvers<void>();
      const mayEnd = Promise.withResolvers<void>();
      const holding = database.transaction(async () => {
        isHeld.resolve();
        await mayEnd.promise;
      });
      await isHeld.promise;
      const refused = database.query(sql`SELECT 1`);
      await assert.rejects(refused, (error) => isConnectionError(error));
      assert.equal(database.longestWaitMs(), 0, "somebody waits still");
      mayEnd.resolve();
      await holding;
      // Twenty of them take a second, one after the other, and each far less than a statement may.
      const queue = Array.from({ length: 20 }, () => database.query(sql`SELECT pg_sleep(0.05)`));
      assert.equal((await Promise.all(queue)).length, 20);
    });

    test("a second connection is refused inside a transaction, and named, but not after it", async () => {
      const inside = (work: () => Promise<unknown>): Promise<unknown> => database.transaction(work);
      await assert.rejects(
        inside(() => database.query(sql`SELECT 1`)),
        (error) => error instanceof SecondConnectionError && /limits\.test\.ts/.test(error.stack ?? ""),
      );
      await assert.rejects(
        inside(() => database.transaction(async () => undefined)),
        SecondConnectionError,
      );
      let later: Promise<unknown> = Promise.resolve();
      await database.transaction(async () => {
        later = letPass(20, "the transaction ends first").then(() => database.query(sql`SELECT 1`));
      });
      await later;
    });
  });
}

test("a wait for a turn to write is part of the wait for a connection", async () => {
  const testDatabase = await createTestDatabase({ migrated: false });
  // Three of the four connections may write.
  const database = createDatabase({
    ...{ url: testDatabase.url, poolSize: 4, statementNames: true },
    limits: { ...LIMITS, stalledMs: 2_000 },
  });
  const mayEnd = Promise.withResolvers<void>();
  const refused: string[] = [];
  const refuses = (who: string, asked: Promise<unknown>): Promise<void> =>
    assert.rejects(asked, (error) => isConnectionError(error)).then(() => void refused.push(who));
  try {
    const holding: Promise<unknown>[] = [];
    for (let i = 0; i < 4; i += 1) {
      const isHeld = Promise.withResolvers<void>();
      const hold = async (): Promise<void> => {
        isHeld.resolve();
        await mayEnd.promise;
      };
      holding.push(database.transaction(hold, { readOnly: true }));
      await isHeld.promise;
    }
    const write = (): Promise<unknown> => database.transaction(async () => undefined);
    const turns = ["first", "second", "third"].map((who) => refuses(who, write()));
    await letPass(200, "a turn becomes free while it is waited for");
    const behind = refuses("behind them", write());
    await letPass(1_000, "who comes now has waited for less time");
    const later = refuses("later", database.query(sql`SELECT 1`));
    await Promise.all([...turns, behind, later]);
    assert.deepEqual([refused.length, refused.at(-1)], [5, "later"]);
    mayEnd.resolve();
    await Promise.all(holding);
  } finally {
    mayEnd.resolve();
    await database.close();
    await testDatabase.drop();
  }
});
