import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { openCopySession } from "../../src/db/copy-tables.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openSession } from "../../src/db/open-session.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const readSetting = async (db: Queryable): Promise<string | undefined> =>
  (await db.query<{ value: string }>(sql`SELECT current_setting('synchronous_commit') AS value`))[0]?.value;

/** What a statement that writes, and is a transaction of its own, runs under. */
const readOfWrite = async (db: Queryable): Promise<string | undefined> =>
  (
    await db.query<{ value: string }>(
      sql`INSERT INTO written VALUES (1) RETURNING current_setting('synchronous_commit') AS value`,
    )
  )[0]?.value;

describe("a session", () => {
  let testDatabase: TestDatabase;
  const opened: Database[] = [];
  /** A pool made now: settings of a database or role count for sessions that begin after them. */
  const open = (options: { statementNames: boolean; directUrl?: string; poolSize?: number }): Database => {
    const database = createDatabase({ url: testDatabase.url, poolSize: 2, ...options });
    opened.push(database);
    return database;
  };
  const setDatabase = async (value: string): Promise<void> => {
    const admin = open({ statementNames: true });
    const [row] = await admin.query<{ name: string }>(sql`SELECT current_database() AS name`);
    await admin.query(rawSql(`ALTER DATABASE ${row?.name} SET synchronous_commit = ${value}`));
  };
  before(async () => {
    testDatabase = await createTestDatabase({ migrated: false });
    await open({ statementNames: true }).query(sql`CREATE TABLE written (id int)`);
  });
  after(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await testDatabase.drop();
  });

  for (const [set, effective] of [
    ["off", "on"],
    ["local", "on"],
    ["on", "on"],
    ["remote_write", "remote_write"],
    ["remote_apply", "remote_apply"],
  ] as const) {
    test(`commits under ${effective} where the database is set to ${set}, directly and behind a pooler`, async () => {
      await setDatabase(set);
      const direct = open({ statementNames: true });
      // A pooler of statements without names, and one that keeps names and has a way around it.
      const unnamed = open({ statementNames: false });
      const named = open({ statementNames: true, directUrl: `${testDatabase.url}&application_name=direct` });
      for (const database of [direct, unnamed, named]) {
        assert.equal(await readOfWrite(database), effective);
        assert.equal(await database.transaction(readSetting), effective);
        assert.equal(await database.transaction(readOfWrite), effective);
        assert.equal(await database.transaction(readSetting, { durability: "relaxed" }), "off");
        assert.equal(await readOfWrite(database), effective);
      }
      assert.equal(await readSetting(direct), effective);
    });
  }

  test("of a pooler that another has changed commits under on, and leaves what it set to the transaction", async () => {
    await setDatabase("on");
    const pooled = open({ statementNames: false, poolSize: 1 });
    await pooled.query(rawSql("SET synchronous_commit = off"));
    assert.equal(await readOfWrite(pooled), "on");
    assert.equal(await pooled.transaction(readSetting), "on");
    assert.equal(await readSetting(pooled), "off");
    await assert.rejects(pooled.query(sql`INSERT INTO written VALUES (1 / ${0}::int)`), { code: "22012" });
    assert.deepEqual(await pooled.query(sql`SELECT 1 AS one`), [{ one: 1 }]);
  });

  test("of migrations, backups and LISTEN commits under on, and is not cut off by the database's limits", async () => {
    await setDatabase("off");
    const admin = open({ statementNames: true });
    const [row] = await admin.query<{ name: string }>(sql`SELECT current_database() AS name`);
    await admin.query(rawSql(`ALTER DATABASE ${row?.name} SET statement_timeout = 1234`));
    const folder = await mkdtemp(path.join(tmpdir(), "keelson-test-"));
    const copy = await openCopySession(testDatabase.url);
    const session = await openSession({ url: testDatabase.url, applicationName: "keelson listen" });
    try {
      await writeFile(
        path.join(folder, "0001_settings.sql"),
        "CREATE TABLE seen AS SELECT current_setting('synchronous_commit') AS value, current_setting('statement_timeout') AS cutoff;",
      );
      await migrate(testDatabase.url, { directory: folder });
      const seen = [{ value: "on", cutoff: "0" }];
      assert.deepEqual(await admin.query(sql`SELECT value, cutoff FROM seen`), seen);
      const now = sql`SELECT current_setting('synchronous_commit') AS value, current_setting('statement_timeout') AS cutoff`;
      assert.deepEqual(await copy.query(now), seen);
      assert.deepEqual((await session.query(now.text)).rows, seen);
    } finally {
      await session.end();
      await copy.close();
      await rm(folder, { recursive: true });
    }
  });
});
