import assert from "node:assert/strict";
import { once, EventEmitter } from "node:events";
import { after, before, describe, test } from "node:test";
import { createListener } from "../../src/db/listen.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

describe("a listener", () => {
  let testDatabase: TestDatabase;
  let database: Database;
  before(async () => {
    testDatabase = await createTestDatabase({ migrated: false });
    database = createDatabase({ url: testDatabase.url, poolSize: 2, statementNames: true });
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
  });

  const listen = () => {
    const heard = new EventEmitter();
    const listener = createListener({
      url: database.directUrl,
      channels: ["one", "Two-2"],
      onNotification: (channel, payload) => heard.emit("notification", channel, payload),
      onGap: () => heard.emit("gap"),
      onListeners: (count) => heard.emit("listeners", count),
      onConnectionLost: (error) => heard.emit("lost", error),
    });
    return { heard, listener };
  };

  test("hears its channels", async () => {
    const { heard, listener } = listen();
    await listener.ready;
    try {
      for (const [channel, payload] of [
        ["one", "a"],
        ["Two-2", ""],
      ]) {
        const notification = once(heard, "notification");
        await database.query(sql`SELECT pg_notify(${channel}, ${payload})`);
        assert.deepEqual(await notification, [channel, payload]);
      }
    } finally {
      await listener.close();
    }
  });

  test("comes back after its connection was cut, tells of the gap, and hears again", async () => {
    const { heard, listener } = listen();
    await listener.ready;
    try {
      for (let round = 0; round < 3; round++) {
        const [lost, gap] = [once(heard, "lost"), once(heard, "gap")];
        await database.query(
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'keelson listen' AND datname = current_database()`,
        );
        await lost;
        await gap;
        const notification = once(heard, "notification");
        await database.query(sql`SELECT pg_notify('one', ${`round ${round}`})`);
        assert.deepEqual(await notification, ["one", `round ${round}`]);
      }
    } finally {
      await listener.close();
    }
  });

  test("sees how many listen to its database", async () => {
    const { heard, listener } = listen();
    const seen = (count: number): Promise<void> =>
      new Promise((resolve) => {
        heard.on("listeners", (found) => {
          if (found === count) resolve();
        });
      });
    try {
      await seen(1);
      const other = listen().listener;
      await seen(2);
      await other.close();
      await seen(1);
    } finally {
      await listener.close();
    }
  });

  test("leaves no connection after it was closed, also when the server cannot be reached", async () => {
    const { listener } = listen();
    await listener.ready;
    await listener.close();
    assert.deepEqual(
      await database.query(
        sql`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keelson listen' AND datname = current_database()`,
      ),
      [{ count: 0 }],
    );
    const lost = Promise.withResolvers<Error>();
    const unreachable = createListener({
      url: "postgresql://keelson@/keelson?host=/nonexistent",
      channels: ["one"],
      onNotification: () => undefined,
      onGap: () => undefined,
      onConnectionLost: lost.resolve,
    });
    await lost.promise;
    await unreachable.close();
    await unreachable.ready;
  });
});
