import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { lockExecutions } from "../../src/core/executions/execution-reads.ts";
import { cancelRun } from "../../src/core/executions/cancel-run.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { letPass } from "../support/until.ts";
import { untilBlocked } from "../support/until-blocked.ts";

let scene: RunScene;
let database: TestDatabase;
let db: Database;
before(async () => {
  database = await createTestDatabase();
  scene = await startRunScene({ tasks: [{ id: "work" }] }, { database });
  db = createDatabase({ url: database.url, poolSize: 6, statementNames: true });
});
after(async () => {
  await db.close();
  await scene.stop();
});

/** A run with the children 2 and 4, and 3 as the child of 2: keys in another order than levels. */
async function makeTree(): Promise<{ environmentId: Uuid<"env">; ids: Uuid<"run">[] }> {
  const root = decodeId("run", (await scene.start("work", { delay: "1h" })).id) as Uuid<"run">;
  const prefix = randomUUID().slice(0, 35);
  const others = [2, 3, 4].map((end) => `f${prefix.slice(1)}${end}` as Uuid<"run">);
  const ids = [root, ...others];
  const [row] = await db.query<{ environmentId: Uuid<"env"> }>(
    sql`SELECT environment_id AS "environmentId" FROM runs WHERE id = ${root}`,
  );
  const parents = [null, ids[0], ids[1], ids[0]] as string[];
  for (const [index, id] of ids.entries()) {
    if (index === 0) continue;
    await db.query(sql`
      INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('id', ${id}::uuid, 'parent_run_id', ${parents[index]}::uuid))).*
      FROM runs r WHERE id = ${root}`);
    await db.query(sql`
      INSERT INTO executions SELECT (jsonb_populate_record(e, jsonb_build_object('run_id', ${id}::uuid))).*
      FROM executions e WHERE run_id = ${root}`);
  }
  return { environmentId: row?.environmentId as Uuid<"env">, ids };
}

async function countDeadlocks(): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`SELECT deadlocks AS count FROM pg_stat_database WHERE datname = current_database()`,
  );
  return row?.count ?? 0;
}

test("a cancel locks its tree in key order, as every transaction locks several runs", async () => {
  const { environmentId, ids } = await makeTree();
  const [root, , third, fourth] = ids as [Uuid<"run">, Uuid<"run">, Uuid<"run">, Uuid<"run">];
  const now = Date.now();
  let canceled: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    await lockExecutions(tx, [{ environmentId, runId: third }]);
    canceled = db.transaction((other) => cancelRun(other, environmentId, root, now));
    await untilBlocked(db);
    // Free: the cancel waits for the third before it takes the fourth.
    const rows = await tx.query(sql`
      SELECT FROM executions WHERE environment_id = ${environmentId} AND run_id = ${fourth} FOR UPDATE NOWAIT`);
    assert.equal(rows.length, 1);
  });
  await canceled;
  const left = await db.query(sql`SELECT FROM executions WHERE run_id = ANY(${ids}::uuid[])`);
  assert.equal(left.length, 0);
});

test("racing cancels of overlapping trees beside transactions in key order never deadlock", async () => {
  const now = Date.now();
  const trees = await Promise.all(Array.from({ length: 25 }, makeTree));
  await Promise.all(
    trees.flatMap(({ environmentId, ids }) => [
      ...ids.map((runId) =>
        db
          .transaction((tx) => cancelRun(tx, environmentId, runId, now))
          .catch((error: unknown) => assert.match(String(error), /ended|cancelled/)),
      ),
      db.transaction((tx) =>
        lockExecutions(
          tx,
          ids.map((runId) => ({ environmentId, runId })),
        ),
      ),
    ]),
  );
  await letPass(1_100, "PostgreSQL tells its counts within a second");
  const deadlocks = await countDeadlocks();
  console.log(`${trees.length * 4} racing cancels of ${trees.length} trees: ${deadlocks} deadlocks`);
  assert.equal(deadlocks, 0);
});
