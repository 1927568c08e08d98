import assert from "node:assert/strict";
import { appendFile, cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { createMigratedCheck } from "../../src/db/check-migrated.ts";
import { readMigrations } from "../../src/db/migration-files.ts";
import { findPendingMigrations, migrate } from "../../src/db/migrate.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

/** What a migration of a test waits for, as if it took hours. */
const LONG = 99;

describe("migrate", () => {
  let directory: string;
  let testDatabase: TestDatabase;
  let database: Database;

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "keelson-migrations-"));
    await writeFile(
      path.join(directory, "0001_first.sql"),
      "CREATE TABLE first (id int);\nINSERT INTO first VALUES (1);\n",
    );
    await writeFile(
      path.join(directory, "0002_second.sql"),
      "SELECT pg_sleep(0.05);\nCREATE TABLE second (id int);\n",
    );
    testDatabase = await createTestDatabase({ migrated: false });
    database = createDatabase({ url: testDatabase.url, poolSize: 2, statementNames: true });
  });
  afterEach(async () => {
    await database.close();
    await testDatabase.drop();
    await rm(directory, { recursive: true });
  });

  test("runs each file once and records it", async () => {
    assert.deepEqual(await findPendingMigrations(testDatabase.url, { directory }), [
      "0001_first.sql",
      "0002_second.sql",
    ]);
    assert.deepEqual(await migrate(testDatabase.url, { directory }), ["0001_first.sql", "0002_second.sql"]);
    assert.deepEqual(await migrate(testDatabase.url, { directory }), []);
    assert.deepEqual(await findPendingMigrations(testDatabase.url, { directory }), []);
    assert.deepEqual(
      await database.query(
        sql`SELECT number, name, length(checksum) AS length FROM keelson_migrations ORDER BY number`,
      ),
      [
        { number: 1, name: "0001_first.sql", length: 64 },
        { number: 2, name: "0002_second.sql", length: 64 },
      ],
    );
  });

  test("runs each file once when several servers start at the same time", async () => {
    const results = await Promise.all([1, 2, 3, 4].map(() => migrate(testDatabase.url, { directory })));
    assert.deepEqual(results.flat().toSorted(), ["0001_first.sql", "0002_second.sql"]);
    assert.deepEqual(await database.query(sql`SELECT count(*) FROM first`), [{ count: 1 }]);
  });

  test("waits for nobody when it has nothing to do, as an old server that starts while a newer one migrates", async () => {
    await migrate(testDatabase.url, { directory });
    const older = await mkdtemp(path.join(tmpdir(), "keelson-migrations-"));
    await cp(directory, older, { recursive: true });
    await writeFile(path.join(directory, "0003_third.sql"), `SELECT pg_advisory_xact_lock(${LONG});`);
    const waiting = async (): Promise<number | undefined> => {
      const [row] = await database.query<{ count: number }>(sql`
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'keelson migrate' AND wait_event_type = 'Lock'`);
      return row?.count;
    };
    let ended: Promise<string[][]> | undefined;
    await database.alone(LONG, async () => {
      const newer = migrate(testDatabase.url, { directory });
      await until("the newer one migrates", 5_000, async () => (await waiting()) === 1);
      let done: string[] | null = null;
      const old = migrate(testDatabase.url, { directory: older }).then((names) => (done = names));
      await until(
        "the old one starts, or waits",
        5_000,
        async () => done !== null || (await waiting()) === 2,
      );
      assert.deepEqual(done, []);
      ended = Promise.all([newer, old]);
    });
    assert.deepEqual(await ended, [["0003_third.sql"], []]);
    await rm(older, { recursive: true });
  });

  test("takes line ends of another system for the same file", async () => {
    await migrate(testDatabase.url, { directory });
    await writeFile(
      path.join(directory, "0001_first.sql"),
      "CREATE TABLE first (id int);\r\nINSERT INTO first VALUES (1);\r\n",
    );
    assert.deepEqual(await migrate(testDatabase.url, { directory }), []);
  });

  test("refuses a file that was edited after it ran", async () => {
    await migrate(testDatabase.url, { directory });
    await appendFile(path.join(directory, "0001_first.sql"), "-- a thought\n");
    await assert.rejects(migrate(testDatabase.url, { directory }), {
      message: /^The migration 0001_first\.sql was edited after this database had it\. [^\n]+$/,
    });
  });

  /** A Keelson that knows the first file and the third of which the database has had more. */
  async function isOfNewer(third: string): Promise<void> {
    const added = path.join(directory, "0003_third.sql");
    await writeFile(added, third);
    await migrate(testDatabase.url, { directory });
    await rm(added);
  }

  test("leaves a database of a newer Keelson as it is when that took nothing away", async () => {
    await isOfNewer("-- oldest server: 0002\nCREATE TABLE third (id int);\n");
    assert.deepEqual(await migrate(testDatabase.url, { directory }), []);
    const check = await createMigratedCheck(directory);
    await check(database);
    await rm(path.join(directory, "0002_second.sql"));
    await assert.rejects(migrate(testDatabase.url, { directory }), /has had the migration 0003_third\.sql/);
  });

  test("refuses a database of a newer Keelson that took something away", async () => {
    const check = await createMigratedCheck(directory);
    await assert.rejects(check(database));
    await isOfNewer("-- oldest server: 0003\nDROP TABLE first;\n");
    const newer = /of a newer Keelson[^\n]+0003_third\.sql[^\n]+Start the newer Keelson[^\n]*$/;
    await assert.rejects(migrate(testDatabase.url, { directory }), { message: newer });
    await assert.rejects(check(database), {
      message: /migration 0003_third\.sql of a newer Keelson, which this server cannot run after/,
    });
  });

  test("a server whose migrations are not all there is not ready", async () => {
    await migrate(testDatabase.url, { directory });
    await writeFile(path.join(directory, "0003_third.sql"), "SELECT 1;");
    const check = await createMigratedCheck(directory);
    await assert.rejects(check(database), /lacks migrations of this server\. Run keelson migrate/);
    await migrate(testDatabase.url, { directory });
    await check(database);
  });

  test("refuses a file put in before one that ran", async () => {
    await rm(path.join(directory, "0001_first.sql"));
    await migrate(testDatabase.url, { directory });
    await writeFile(path.join(directory, "0001_late.sql"), "SELECT 1;");
    await assert.rejects(
      migrate(testDatabase.url, { directory }),
      /0001_late\.sql has a lower number than 0002_second\.sql/,
    );
  });

  test("keeps nothing of a file that fails, keeps the files before it, and tells the line", async () => {
    await writeFile(
      path.join(directory, "0003_third.sql"),
      "CREATE TABLE third (id int);\nSELECT nonsense;\n",
    );
    await assert.rejects(
      migrate(testDatabase.url, { directory }),
      /^Error: The migration 0003_third\.sql failed \(line 2\): column "nonsense" does not exist$/,
    );
    assert.deepEqual(
      await database.query(
        sql`SELECT to_regclass('second') IS NOT NULL AS second, to_regclass('third') IS NULL AS "noThird"`,
      ),
      [{ second: true, noThird: true }],
    );
  });

  test("refuses two files of one number and a file without a number", async () => {
    await writeFile(path.join(directory, "0002_twin.sql"), "SELECT 1;");
    await assert.rejects(
      migrate(testDatabase.url, { directory }),
      /0002_second\.sql and 0002_twin\.sql have the same number/,
    );
    await rm(path.join(directory, "0002_twin.sql"));
    await writeFile(path.join(directory, "more.sql"), "SELECT 1;");
    await assert.rejects(migrate(testDatabase.url, { directory }), /more\.sql must be named like/);
  });

  test("finds the migrations of this code without being told where", async () => {
    const applied = await migrate(testDatabase.url);
    assert.ok(applied.length > 0);
    assert.deepEqual(await findPendingMigrations(testDatabase.url), []);
  });
});

/** The first that older servers run beside. */
const FIRST_BESIDE = 160;
/** What takes something away from servers that do not know of it. */
const BREAKING =
  /\bDROP\s+(TABLE|COLUMN|FUNCTION|VIEW)\b|\bRENAME\b|\bSET\s+NOT\s+NULL\b|\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b|\bADD\s+CONSTRAINT\b|\bCREATE\s+UNIQUE\b/i;

test("a migration that takes something away from older servers says which ones can run after it", async () => {
  for (const { name, number, text, oldestServer } of await readMigrations()) {
    if (number < FIRST_BESIDE || !BREAKING.test(text.replaceAll(/--.*$/gm, ""))) continue;
    assert.notEqual(oldestServer, null, `${name}: add a line \`-- oldest server: <number>\``);
  }
  assert.match("ALTER TABLE a ALTER COLUMN b SET NOT NULL", BREAKING);
  assert.match("ALTER TABLE a ALTER b TYPE text", BREAKING);
  assert.doesNotMatch("ALTER TABLE a ADD COLUMN b integer", BREAKING);
});

/** The first that leaves indexes of tables that are there to `index_builds`. */
const FIRST_BESIDE_WRITES = 199;
const INDEXED = /\bCREATE\s+(?:UNIQUE\s+)?INDEX\s+(?:\w+\s+)?ON\s+(\w+)/gi;

/** Tables on which a migration makes an index while nobody can write to them, unless it made them itself. */
const heldUp = (text: string): string[] =>
  [...text.replaceAll(/--.*$/gm, "").matchAll(INDEXED)]
    .map(([, table]) => table as string)
    .filter((table) => !new RegExp(String.raw`\bCREATE\s+TABLE\s+${table}\b`, "i").test(text));

test("a migration makes indexes only on tables of its own, and leaves the others to the servers", async () => {
  for (const { name, number, text } of await readMigrations())
    if (number >= FIRST_BESIDE_WRITES)
      assert.deepEqual(heldUp(text), [], `${name}: insert the index into index_builds`);
  assert.deepEqual(heldUp("CREATE TABLE a (id int); CREATE INDEX a_id ON a (id)"), []);
  assert.deepEqual(heldUp("CREATE UNIQUE INDEX b_id\n  ON b (id)"), ["b"]);
});
