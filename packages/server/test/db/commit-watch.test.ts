// A commit that is not confirmed in time says that commits hang, or that its connection fell silent.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isSilence } from "../../src/db/connection-error.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { REQUEST_LIMITS } from "../../src/db/session-settings.ts";
import { sql } from "../../src/db/sql.ts";
import { startPostgresProxy, type PostgresProxy } from "../crash/support/postgres-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

describe("a connection that falls silent under a commit", () => {
  let testDatabase: TestDatabase;
  let proxy: PostgresProxy;
  let database: Database;
  const told: boolean[] = [];
  before(async () => {
    testDatabase = await createTestDatabase({ migrated: false });
    proxy = await startPostgresProxy(testDatabase.url);
    database = createDatabase({
      ...{ url: proxy.url, poolSize: 8, statementNames: true },
      limits: { ...REQUEST_LIMITS, answerMs: 1_000 },
      onCommitsHang: (isHanging) => void told.push(isHanging),
    });
    await database.query(sql`CREATE TABLE written (id int)`);
  });
  after(async () => {
    await database?.close();
    await proxy?.close();
    await testDatabase?.drop();
  });

  const insert = sql`INSERT INTO written VALUES (1)`;
  /** Connections that are made from now on are heard. */
  const fallSilent = (): void => {
    proxy.silence();
    proxy.heal();
  };

  for (const [what, lose] of [
    [
      "of a transaction",
      () =>
        database.transaction(async (tx) => {
          await tx.query(insert);
          fallSilent();
        }),
    ],
    [
      "of one statement",
      async () => {
        await database.query(insert);
        const written = database.query(insert);
        fallSilent();
        await written;
      },
    ],
  ] as const) {
    test(`refuses no other write: ${what}`, async () => {
      await assert.rejects(lose(), isSilence);
      await Promise.all([
        ...Array.from({ length: 8 }, () => database.transaction((tx) => tx.query(insert))),
        ...Array.from({ length: 8 }, () => database.query(insert)),
      ]);
      assert.deepEqual([told, database.commitsHang()], [[], false]);
    });
  }
});
