// `keelson migrate` as a Job of a cluster runs it: things start in any order.

import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";
import { startEmbeddedServer } from "../../server/src/embedded-postgres/embedded-server.ts";
import { migrate } from "../../server/src/db/migrate.ts";
import { readMigrations } from "../../server/src/db/migration-files.ts";
import { createTestDatabase } from "../../server/test/support/database.ts";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";
import { keelson, spawnKeelson } from "./support.ts";

describe("keelson migrate", () => {
  test("waits for a database that is not there yet, and says so", async (t) => {
    // PostgreSQL of root would keep its files elsewhere if it could not pass through it.
    const folder = await makeTestFolder();
    t.after(() => removeTestFolder(folder));
    const dataDir = path.join(folder, "postgres");
    const first = await startEmbeddedServer({ dataDir });
    await first.stop();
    const waits = Promise.withResolvers<void>();
    const outcome = spawnKeelson(["migrate"], {
      env: { DATABASE_URL: first.url },
      onSpawn: ({ stderr }) =>
        stderr?.on("data", (bytes: Buffer) => {
          if (bytes.includes("Waiting for the database at")) waits.resolve();
        }),
    });
    await Promise.race([waits.promise, outcome]);
    const postgres = await startEmbeddedServer({ dataDir });
    try {
      const { code, stdout, stderr } = await outcome;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /Waiting for the database at .*\n(.*\n)*Applied 0001_/);
      assert.match(stdout, /^Applied \d+\n$/);
    } finally {
      await postgres.stop();
    }
  });

  test("names the indexes that it leaves to the servers", async () => {
    const { url, drop } = await createTestDatabase({ migrated: false });
    try {
      const migrations = await readMigrations();
      const first = migrations.findIndex(({ text }) => text.includes("TABLE index_builds"));
      await migrate(url, { upTo: migrations[first - 1]?.number ?? 0 });
      const { code, stdout, stderr } = await keelson(["migrate", "--json"], { env: { DATABASE_URL: url } });
      assert.equal(code, 0, stderr);
      assert.match(stderr, /The servers build .*\bblobs_sizes\b.* while they work/);
      const { applied, indexes } = JSON.parse(stdout) as { applied: string[]; indexes: string[] };
      assert.deepEqual(
        applied,
        migrations.slice(first).map(({ name }) => name),
      );
      assert.ok(indexes.includes("blobs_sizes"));
    } finally {
      await drop();
    }
  });

  test("gives up after KEELSON_DATABASE_WAIT, with one line that says what to do", async () => {
    const { code, stderr } = await keelson(["migrate"], {
      env: { DATABASE_URL: "postgres://keelson:secret@127.0.0.1:1/keelson", KEELSON_DATABASE_WAIT: "0s" },
    });
    assert.equal(code, 1);
    assert.match(stderr, /^\S*.*nothing listens there\. Start PostgreSQL[^\n]+\n$/);
    assert.doesNotMatch(stderr, /secret/);
  });
});
