import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { startEmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { waitForDatabase } from "../../src/db/wait-for-database.ts";
import { describeProcess } from "../crash/support/spawned-process.ts";
import { createTestDatabase } from "../support/database.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { until } from "../support/until.ts";

const NOWHERE = "postgresql://keelson:secret@127.0.0.1:1/keelson";

describe("a server that starts before its PostgreSQL", () => {
  test("waits for it, and says so", async () => {
    const folder = await makeTestFolder();
    const dataDir = path.join(folder, "postgres");
    const first = await startEmbeddedServer({ dataDir });
    const { url } = first;
    await first.stop();
    const told = Promise.withResolvers<string>();
    const waited = waitForDatabase(url, {
      forMs: 60_000,
      onWaiting: ({ address, reason }) => told.resolve(`${address}: ${reason}`),
    });
    assert.match(await told.promise, /ENOENT|ECONNREFUSED/);
    const second = await startEmbeddedServer({ dataDir });
    await waited;
    await second.stop();
    await rm(folder, { recursive: true });
  });

  test("begins to listen once that is there", async () => {
    const folder = await makeTestFolder();
    const dataDir = path.join(folder, "postgres");
    const first = await startEmbeddedServer({ dataDir });
    const { url } = first;
    await first.stop();
    const server = describeProcess({
      name: "the server",
      main: "server/src/main.ts",
      readyWhen: /listening on http:\S+\n/,
      env: { DATABASE_URL: url, KEELSON_DATA_DIR: path.join(folder, "data"), PORT: "0" },
    });
    const started = server.start();
    await until("it says that it waits", 60_000, async () =>
      /waiting for the database/.test(server.output()),
    );
    assert.doesNotMatch(server.output(), /listening on/);
    const postgres = await startEmbeddedServer({ dataDir });
    try {
      await started;
    } finally {
      await server.end();
      await postgres.stop();
      await rm(folder, { recursive: true });
    }
  });

  test("gives the reason up after its time, without the password", async () => {
    const lines: string[] = [];
    const outcome = waitForDatabase(NOWHERE, {
      forMs: 700,
      onWaiting: (wait) => lines.push(JSON.stringify(wait)),
    });
    await assert.rejects(outcome, {
      message:
        "Cannot use the PostgreSQL at 127.0.0.1:1 (DATABASE_URL): nothing listens there. Start PostgreSQL, or correct the host and the port.",
    });
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /127\.0\.0\.1:1.*ECONNREFUSED/);
    assert.doesNotMatch(lines.join(), /secret/);
  });

  test("is stopped while it waits", async () => {
    const stop = new AbortController();
    const outcome = waitForDatabase(NOWHERE, {
      forMs: 60_000,
      onWaiting: () => stop.abort(),
      signal: stop.signal,
    });
    await assert.rejects(outcome, { name: "AbortError" });
  });

  test("does not wait for what waiting does not mend: an unknown account or database", async () => {
    const database = await createTestDatabase({ migrated: false });
    const refuse = (): void => assert.fail("it waited");
    for (const [url, message] of [
      [database.url.replace(/\/\/[^@]*@/, "//nobody_of_that_name@"), /CREATE ROLE/],
      [database.url.replace(/test_[0-9a-f]+/, "test_of_that_name"), /CREATE DATABASE/],
    ] as const)
      await assert.rejects(waitForDatabase(url, { forMs: 60_000, onWaiting: refuse }), { message });
    await database.drop();
  });
});
