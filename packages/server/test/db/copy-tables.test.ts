// Tables as they are copied over a connection whose messages come one at a time.

import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { openCopySession } from "../../src/db/copy-tables.ts";
import { sql } from "../../src/db/sql.ts";
import { createSplitter, placeOf } from "../crash/support/postgres-messages.ts";
import { startSocketRelay } from "../crash/support/socket-relay.ts";
import { createTestDatabase } from "../support/database.ts";
import { letPass } from "../support/until.ts";

const APART_MS = 5;

/** What PostgreSQL says comes message by message, as packets of a slow network do. */
function passSlowly(client: Socket, backend: Socket): void {
  const split = createSplitter(false);
  let passed = Promise.resolve();
  client.on("data", (bytes: Buffer) => backend.write(bytes));
  backend.on("data", (bytes: Buffer) => {
    for (const message of split(bytes))
      passed = passed.then(async () => {
        client.write(message);
        await letPass(APART_MS, "the client works off what came before");
      });
  });
}

describe("a table that is copied", () => {
  test("has the number of its rows, though that comes later than they do", async () => {
    const database = await createTestDatabase();
    const { socketPath, urlAt } = placeOf(database.url);
    const relay = await startSocketRelay(() => socketPath, passSlowly);
    const session = await openCopySession(urlAt(relay.port));
    try {
      await session.query(sql`CREATE TABLE copied AS SELECT n FROM generate_series(1, 3) AS n`);
      const chunks: Buffer[] = [];
      const take = (chunk: Buffer): void => void chunks.push(chunk);
      const table = { name: "copied", columns: ["n"] };
      for (let round = 0; round < 3; round += 1) {
        assert.equal(await session.copyOut(table, undefined, take), 3);
        assert.equal(Buffer.concat(chunks.splice(0)).toString(), "1\n2\n3\n");
      }
    } finally {
      await session.close();
      await relay.close();
      await database.drop();
    }
  });
});
