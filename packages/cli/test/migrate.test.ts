// `keelson migrate` as a Job of a cluster runs it: things start in any order.

import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";
import { startEmbeddedServer } from "../../server/src/embedded-postgres/embedded-server.ts";
import { createFolder, keelson, spawnKeelson } from "./support.ts";

describe("keelson migrate", () => {
  test("waits for a database that is not there yet, and says so", async () => {
    await using folder = await createFolder();
    const dataDir = path.join(folder.path, "postgres");
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

  test("gives up after KEELSON_DATABASE_WAIT, with one line that says what to do", async () => {
    const { code, stderr } = await keelson(["migrate"], {
      env: { DATABASE_URL: "postgres://keelson:secret@127.0.0.1:1/keelson", KEELSON_DATABASE_WAIT: "0s" },
    });
    assert.equal(code, 1);
    assert.match(stderr, /^\S*.*nothing listens there\. Start PostgreSQL[^\n]+\n$/);
    assert.doesNotMatch(stderr, /secret/);
  });
});
