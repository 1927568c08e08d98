// A database whose owner has set it up for another program: values are read, and transactions isolated, as ever.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import { openSession } from "../../src/db/open-session.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

const FOREIGN = {
  DateStyle: "German",
  IntervalStyle: "sql_standard",
  TimeZone: "Asia/Kathmandu",
  bytea_output: "escape",
  default_transaction_isolation: "serializable",
};

const OURS = {
  dateStyle: "ISO, MDY",
  intervalStyle: "postgres",
  timeZone: "UTC",
  byteaOutput: "hex",
  isolation: "read committed",
};

const SHOWN = sql`
  SELECT current_setting('DateStyle') AS date_style, current_setting('IntervalStyle') AS interval_style,
    current_setting('TimeZone') AS time_zone, current_setting('bytea_output') AS bytea_output,
    current_setting('transaction_isolation') AS isolation`;

let testDatabase: TestDatabase;
const opened: Database[] = [];
const open = (options: { statementNames: boolean }): Database => {
  const database = createDatabase({ url: testDatabase.url, poolSize: 2, ...options });
  opened.push(database);
  return database;
};
before(async () => {
  testDatabase = await createTestDatabase();
  const admin = open({ statementNames: true });
  const [row] = await admin.query<{ name: string }>(sql`SELECT current_database() AS name`);
  for (const [setting, value] of Object.entries(FOREIGN))
    await admin.query(rawSql(`ALTER DATABASE ${row?.name} SET ${setting} = '${value}'`));
});

describe("a session", () => {
  after(() => Promise.all(opened.map((database) => database.close())));

  test("reads and isolates as ever, of the pool and of its own", async () => {
    const pool = open({ statementNames: true });
    assert.deepEqual(await pool.query(SHOWN), [OURS]);
    assert.deepEqual(await pool.transaction((tx) => tx.query(SHOWN)), [OURS]);
    const session = await openSession({ url: testDatabase.url, applicationName: "test" });
    assert.deepEqual((await session.query(SHOWN.text)).rows, [OURS]);
    await session.end();
  });

  test("isolates its transactions as ever behind a pooler", async () => {
    const isolationOf = async (db: Queryable): Promise<unknown> =>
      (await db.query<{ isolation: string }>(SHOWN))[0]?.isolation;
    const pooled = open({ statementNames: false });
    assert.equal(await pooled.transaction(isolationOf), OURS.isolation);
    assert.equal(await pooled.transaction(isolationOf, { isolation: "repeatable read" }), "repeatable read");
  });
});

describe("a server", () => {
  let scene: RunScene;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "a" }] }, { database: testDatabase });
  });
  after(() => scene.stop());

  test("tells the times and the bytes that were stored", async () => {
    const run = await scene.start("a", { payload: { text: "é" } });
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    const data = Buffer.from("\\x00ff\n").toString("base64");
    const chunk = { stream: "stdout", data, at: "2026-11-20T09:15:00.123Z" };
    await scene.worker.report(lease.operation("logs", { chunks: [chunk] }));
    await scene.worker.finish(lease);
    const { status, created_at: createdAt, finished_at: finishedAt } = await scene.get(run.id);
    assert.deepEqual([status, createdAt], ["succeeded", run.created_at]);
    assert.equal(Date.parse(createdAt), scene.clock.now());
    assert.equal(Date.parse(finishedAt), scene.clock.now());
    const { body } = await scene.call("GET", `/v1/runs/${run.id}/logs`);
    assert.deepEqual(
      body.logs.map((log: { data: string }) => log.data),
      [data],
    );
  });
});
