// Indexes on tables that may be large: servers build them while others write, and a build that was stopped is begun anew.

import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { countIndexBuilds } from "../../src/core/system/watch-reads.ts";
import { buildIndexes, listIndexBuilds } from "../../src/db/index-builds.ts";
import { migrate } from "../../src/db/migrate.ts";
import { readMigrations } from "../../src/db/migration-files.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { indexBuildLoops } from "../../src/loops/index-build-loops.ts";
import type { LoopWork } from "../../src/loops/loop.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { holding } from "../support/hold-snapshot.ts";
import { LOOP_ROUND } from "../support/loop-round.ts";
import { until } from "../support/until.ts";

const NEW = "blobs_of_their_time";
const OLD = "blobs_sizes";

describe("an index that a migration asks for", () => {
  let testDatabase: TestDatabase;
  let db: Database;
  let loop: LoopWork;
  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    db = createDatabase({ url: testDatabase.url, poolSize: 4, statementNames: true });
    loop = indexBuildLoops({ db })[0] as LoopWork;
  });
  afterEach(async () => {
    await db.close();
    await testDatabase.drop();
  });

  const ask = (): Promise<object[]> =>
    db.query(sql`
      INSERT INTO index_builds (name, definition, replaces)
      VALUES (${NEW}, 'ON blobs (environment_id, touched_at) WHERE NOT candidate', ${OLD})`);

  const storeBlob = (): Promise<object[]> =>
    db.query(sql`
      INSERT INTO blobs (environment_id, digest, size_bytes, touched_at)
      VALUES (gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 7, now())`);

  /** Of both indexes, those that are there, and whether they can be used. */
  const found = async (): Promise<Record<string, boolean>> => {
    const rows = await db.query<{ name: string; isValid: boolean }>(sql`
      SELECT c.relname AS name, i.indisvalid AS is_valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE c.relname IN (${NEW}, ${OLD})`);
    return Object.fromEntries(rows.map(({ name, isValid }) => [name, isValid]));
  };

  const begun = async (): Promise<boolean> => NEW in (await found());

  const endBuilder = (): Promise<object[]> =>
    db.query(sql`
      SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'keelson index build'`);

  test("is built while others write and a server starts, and then the one that it replaces goes", async () => {
    await ask();
    assert.equal(await countIndexBuilds(db), 1);
    await holding(db, async (release) => {
      const round = loop.run(LOOP_ROUND);
      await until("the build waits for the snapshot", 60_000, begun);
      await storeBlob();
      assert.deepEqual(await migrate(testDatabase.url), []);
      assert.deepEqual(await found(), { [NEW]: false, [OLD]: true });
      // What another server does meanwhile.
      await loop.run(LOOP_ROUND);
      assert.equal(await countIndexBuilds(db), 1);
      await release();
      await round;
    });
    assert.deepEqual(await found(), { [NEW]: true });
    assert.deepEqual(await listIndexBuilds(testDatabase.url), []);
  });

  test("is begun anew when PostgreSQL or its session ended meanwhile", async () => {
    await ask();
    await holding(db, async () => {
      const round = Promise.resolve(loop.run(LOOP_ROUND));
      const outcome = round.then(
        () => "built",
        () => "failed",
      );
      await until("the build waits for the snapshot", 60_000, begun);
      await endBuilder();
      assert.equal(await outcome, "failed");
    });
    assert.deepEqual(await found(), { [NEW]: false, [OLD]: true });
    await indexBuildLoops({ db })[0]?.run(LOOP_ROUND);
    assert.deepEqual(await found(), { [NEW]: true });
  });

  test("is not begun again at once when it failed", async () => {
    await db.query(
      sql`INSERT INTO index_builds (name, definition) VALUES (${NEW}, 'ON blobs (no_such_column)')`,
    );
    await assert.rejects(Promise.resolve(loop.run(LOOP_ROUND)), /no_such_column/);
    await loop.run(LOOP_ROUND);
    assert.equal(await countIndexBuilds(db), 1);
  });

  test("is not begun by a server that has stopped meanwhile", async () => {
    await ask();
    const tell = { building: () => assert.fail("begun"), built: () => undefined };
    await buildIndexes(testDatabase.url, AbortSignal.abort(), tell);
    assert.equal(await begun(), false);
  });

  test("is not waited for by a server that stops, and PostgreSQL goes on with it", async () => {
    await ask();
    const stopping = new AbortController();
    const built: string[] = [];
    const tell = { building: () => undefined, built: (name: string) => void built.push(name) };
    await holding(db, async () => {
      const build = buildIndexes(testDatabase.url, stopping.signal, tell);
      await until("the build waits for the snapshot", 60_000, begun);
      stopping.abort();
      await build;
    });
    await until("PostgreSQL has finished it", 60_000, async () => (await found())[NEW] === true);
    assert.equal(await countIndexBuilds(db), 1);
    await until("the next server finds it there", 60_000, async () => {
      await buildIndexes(testDatabase.url, new AbortController().signal, tell);
      return (await countIndexBuilds(db)) === 0;
    });
    assert.deepEqual([built, await found()], [[NEW], { [NEW]: true }]);
  });

  test("makes way for a migration, which could wait for hours otherwise", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "keelson-migrations-"));
    try {
      await cp(path.resolve(import.meta.dirname, "../../../../migrations"), directory, { recursive: true });
      await writeFile(path.join(directory, "9999_after.sql"), "ALTER TABLE blobs ADD COLUMN note text;");
      await ask();
      await holding(db, async () => {
        const build = assert.rejects(Promise.resolve(loop.run(LOOP_ROUND)));
        await until("the build waits for the snapshot", 60_000, begun);
        assert.deepEqual(await migrate(testDatabase.url, { directory }), ["9999_after.sql"]);
        await build;
      });
      await indexBuildLoops({ db })[0]?.run(LOOP_ROUND);
      assert.deepEqual(await found(), { [NEW]: true });
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

test("a new database has all indexes at once, and one of an older Keelson has them from its servers", async () => {
  for (const isNew of [true, false]) {
    const { url, drop } = await createTestDatabase({ migrated: false });
    const db = createDatabase({ url, poolSize: 1, statementNames: true });
    try {
      const first = (await readMigrations()).find(({ text }) => text.includes("TABLE index_builds"));
      if (!isNew) await migrate(url, { upTo: (first?.number ?? 0) - 1 });
      await migrate(url);
      assert.equal((await listIndexBuilds(url)).includes("blobs_sizes"), !isNew);
      await indexBuildLoops({ db })[0]?.run(LOOP_ROUND);
      assert.deepEqual(await listIndexBuilds(url), []);
      const [row] = await db.query(sql`SELECT to_regclass('blobs_sizes') IS NOT NULL AS found`);
      assert.deepEqual(row, { found: true });
    } finally {
      await db.close();
      await drop();
    }
  }
});
