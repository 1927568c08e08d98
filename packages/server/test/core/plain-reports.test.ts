// A report that only the rows of its runs decide is one statement where they are as this server has written them, and else as any other.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import pg from "pg";
import { decodeId, type Uuid } from "@keelson/contract";
import { NO_FACTS } from "../../src/core/leases/durable-facts.ts";
import { wakeKeys } from "../../src/core/feeds/wake-keys.ts";
import type { Teller } from "../../src/db/queryable.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase } from "../support/database.ts";
import { Killed, killedAt } from "../support/killed-at.ts";
import { logChunk, REPORTED_AT, type HeldLease } from "../support/raw-worker.ts";
import { recordOwnQueries, recordQueries } from "../support/record-queries.ts";
import { reportServer } from "../support/report-server.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { newSeed, pick, seededRandom, type Random } from "../support/seeded-random.ts";
import { untilBlocked } from "../support/until-blocked.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene(
    {
      tasks: [{ id: "plain" }, { id: "one-at-a-time", queue: "narrow" }],
      queues: [{ name: "narrow", concurrency_limit: 1 }],
    },
    { database: await createTestDatabase() },
  );
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const step = (lease: HeldLease, position: number): Json =>
  lease.operation("steps", {
    entries: [{ position, kind: "step", name: `step ${position}`, value: position }],
  });

/** A server that has written the row of a run last, which has made a step. */
async function begun(by = reportServer(scene)): Promise<{ lease: HeldLease; server: typeof by }> {
  const lease = await scene.leased();
  assert.deepEqual(await by.report(lease.operation("start"), step(lease, 1)), [true, true]);
  return { lease, server: by };
}

/** What is stored of a run, but for what differs from run to run. */
async function stored({ runId }: HeldLease): Promise<Json> {
  const id = decodeId("run", runId);
  const { db } = scene.server;
  const [live] = await db.query<Json>(sql`
    SELECT to_jsonb(e) - ARRAY['run_id', 'lease_id', 'lease_expires_at', 'updated_at', 'epoch'] AS row FROM executions e WHERE run_id = ${id}`);
  const [ended] = await db.query<Json>(
    sql`SELECT to_jsonb(x) - ARRAY['run_id', 'lease_id', 'epoch', 'end_number'] AS row FROM run_results x WHERE run_id = ${id}`,
  );
  const journal = await db.query<Json>(
    sql`SELECT sequence, position, name, value, at FROM run_journal WHERE run_id = ${id} ORDER BY sequence`,
  );
  const logs = await db.query<Json>(
    sql`SELECT sequence, stream, convert_from(data, 'UTF8') AS text FROM run_logs WHERE run_id = ${id} ORDER BY sequence`,
  );
  const events = await db.query<Json>(
    sql`SELECT sequence, last_sequence, events FROM run_events WHERE run_id = ${id} ORDER BY sequence`,
  );
  return { live: parsed(live), ended: parsed(ended), journal, logs, events };
}

/** JSON is text to the server. */
const parsed = (row: { row: string } | undefined): Json => (row === undefined ? null : JSON.parse(row.row));

const positionsOf = async (lease: HeldLease): Promise<number[]> =>
  (await stored(lease)).journal.map(({ position }: Json) => position);

/** The statements of a report, without how a transaction begins and ends. */
async function statementsOf(report: () => Promise<boolean[]>, outcomes: boolean[]): Promise<string[]> {
  const recorded = await recordOwnQueries(async () => assert.deepEqual(await report(), outcomes));
  return recorded.map(({ text }) => text.trim().split(/\s+/).slice(0, 2).join(" "));
}

const ONE = ["WITH unchanged"];

describe("a report of a run whose row this server has written last", () => {
  test("is one statement, time and again", async () => {
    const { lease, server } = await begun();
    for (const position of [2, 3])
      assert.deepEqual(await statementsOf(() => server.report(step(lease, position)), [true]), ONE);
    assert.equal(NO_FACTS.openWaits.size, 0, "what all reports share keeps nothing of one");
  });

  test("ends the run, and whoever follows it is told", async () => {
    const { lease, server } = await begun();
    const ends = scene.happens(lease.runId, "run.succeeded");
    const end = lease.operation("release", { outcome: "succeeded", output: { done: true } });
    assert.deepEqual(await statementsOf(() => server.report(end), [true]), ONE);
    await ends;
    const { status, output } = await scene.get(lease.runId);
    assert.deepEqual([status, output], ["succeeded", { done: true }]);
  });

  test("tells of what it wrote", async () => {
    const told: string[] = [];
    const teller: Teller = {
      wake: (key) => void told.push(key),
      note: ({ kind }) => void told.push(kind),
    };
    const { lease, server } = await begun(reportServer(scene, { db: { ...scene.server.db, told: teller } }));
    const id = decodeId("run", lease.runId) as Uuid<"run">;
    assert.deepEqual(told, [], "what a transaction tells is told by it");
    await server.report(step(lease, 2));
    assert.deepEqual(told.splice(0), ["runs", wakeKeys.run(id)]);
    await scene.cancel(lease.runId);
    await server.report(step(lease, 3));
    assert.deepEqual(told, [], "what is not written is not told of");
    await scene.server.db.query(sql`UPDATE executions SET end_awaited = true WHERE run_id = ${id}`);
    await server.report(step(lease, 4));
    await server.report(lease.operation("release", { outcome: "succeeded" }));
    assert.deepEqual(told, ["runs", wakeKeys.run(id), wakeKeys.endings]);
  });

  test("is answered as before when it is repeated, and has no second effect", async () => {
    const { lease, server } = await begun();
    const again = step(lease, 2);
    for (let time = 0; time < 3; time += 1) assert.deepEqual(await server.report(again), [true]);
    assert.deepEqual(await positionsOf(lease), [1, 2]);
  });

  test("is refused under a lease that has ended, and by another worker's lease", async () => {
    const { lease, server } = await begun();
    const { epoch } = lease.fields;
    assert.deepEqual(await server.report({ ...step(lease, 2), epoch: epoch + 1 }), [false]);
    assert.deepEqual(await positionsOf(lease), [1]);
  });

  test("is for the transaction when the slot of a queue is free by it: the next run gets it", async () => {
    const [first, second] = [await scene.start("one-at-a-time"), await scene.start("one-at-a-time")];
    const lease = await scene.worker.takeOne();
    assert.equal(lease.runId, first.id);
    const server = reportServer(scene);
    await server.report(lease.operation("start"), step(lease, 1));
    assert.deepEqual(await statementsOf(() => server.report(step(lease, 2)), [true]), ONE);
    assert.deepEqual(await server.report(lease.operation("release", { outcome: "succeeded" })), [true]);
    assert.equal((await scene.worker.takeOne()).runId, second.id);
  });
});

/** Somebody cancels the run, and the transaction is open while the work goes on. */
async function whileCancelling({ runId }: HeldLease, work: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: scene.server.db.directUrl });
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query(
      "UPDATE executions SET status = 'cancel_requested', cancel_requested_at = now() WHERE run_id = $1",
      [decodeId("run", runId)],
    );
    await work();
    await client.query("COMMIT");
  } finally {
    await client.end();
  }
}

describe("a row that somebody else has written since", () => {
  const isCancelled = async (lease: HeldLease): Promise<boolean> =>
    (await stored(lease)).live.status === "cancel_requested";

  test("keeps what that was, and has the report too", async () => {
    const { lease, server } = await begun();
    await scene.cancel(lease.runId);
    assert.deepEqual(await server.report(step(lease, 2)), [true]);
    assert.deepEqual([await positionsOf(lease), await isCancelled(lease)], [[1, 2], true]);
    // Read and written again, it is known again.
    assert.deepEqual(await statementsOf(() => server.report(step(lease, 3)), [true]), ONE);
    assert.deepEqual([await positionsOf(lease), await isCancelled(lease)], [[1, 2, 3], true]);
  });

  test("is noticed under its lock, too, when it is written just then", async () => {
    const { lease, server } = await begun();
    let reported: Promise<boolean[]> | undefined;
    await whileCancelling(lease, async () => {
      reported = server.report(step(lease, 2));
      await untilBlocked(scene.server.db);
    });
    assert.deepEqual(await reported, [true]);
    assert.deepEqual(await server.report(step(lease, 3)), [true]);
    assert.deepEqual([await positionsOf(lease), await isCancelled(lease)], [[1, 2, 3], true]);
  });

  test("has nothing of a report under the lease that it had", async () => {
    const { lease, server } = await begun();
    const waits = [{ position: 8, name: "timer", kind: "timer", timeout: "1h" }];
    assert.deepEqual(await server.report(lease.operation("waits", { waits, parked: false })), [true]);
    const { db } = scene.server;
    const id = decodeId("run", lease.runId);
    await db.query(sql`UPDATE executions SET end_awaited = true WHERE run_id = ${id}`);
    await server.report(step(lease, 2));
    await db.query(sql`UPDATE executions SET epoch = epoch + 1 WHERE run_id = ${id}`);
    const before = [await stored(lease), await aroundOf(lease)];
    const outcomes = await server.report(
      step(lease, 3),
      lease.operation("logs", { chunks: [logChunk("late")] }),
      lease.operation("events", { events: [NOTE] }),
      lease.operation("release", { outcome: "succeeded", output: "late" }),
    );
    assert.deepEqual(outcomes, [false, false, false, false]);
    assert.deepEqual([await stored(lease), await aroundOf(lease)], before);
  });

  test("undoes nothing of the other runs of the report: all of it is written once", async () => {
    const server = reportServer(scene);
    const leases = [(await begun(server)).lease, (await begun(server)).lease, (await begun(server)).lease];
    await scene.cancel((leases[1] as HeldLease).runId);
    const outcomes = await server.report(...leases.map((lease) => step(lease, 2)));
    assert.deepEqual(outcomes, [true, true, true]);
    for (const lease of leases) assert.deepEqual(await positionsOf(lease), [1, 2]);
  });

  test("is known to neither of two servers that take turns", async () => {
    const { lease, server } = await begun();
    const servers = [reportServer(scene), server];
    for (let position = 2; position < 8; position += 1)
      assert.deepEqual(await servers[position % 2]?.report(step(lease, position)), [true]);
    assert.deepEqual(await positionsOf(lease), [1, 2, 3, 4, 5, 6, 7]);
  });

  test("is forgotten when its lease is renewed: the next report does not try", async () => {
    const lease = await scene.leased();
    await scene.worker.report(lease.operation("start"), step(lease, 1));
    await scene.worker.renew(lease);
    const { sent } = await sentWith(lease);
    assert.equal(sent.includes("WITH unchanged"), false);
  });
});

/** What else the end of a run changes. */
async function aroundOf({ runId }: HeldLease): Promise<Json> {
  const id = decodeId("run", runId);
  const { db } = scene.server;
  return {
    waits: await db.query(sql`SELECT position, status FROM run_waits WHERE run_id = ${id}`),
    awaited: await db.query(sql`SELECT run_id FROM awaited_endings`),
    counts: await db.query(
      sql`SELECT status, sum(count) FROM run_counts GROUP BY status HAVING sum(count) > 0 ORDER BY status`,
    ),
  };
}

const NOTE = { kind: "run.note", message: "noted", at: REPORTED_AT };

/** What the scene's server sends for one more step. */
async function sentWith(lease: HeldLease): Promise<{ sent: string }> {
  const recorded = await recordQueries(async () => {
    assert.deepEqual(await scene.worker.report(step(lease, 2)), [200]);
  });
  return { sent: recorded.map(({ text }) => text.trim()).join("\n") };
}

test("a report in one statement is there wholly or not at all, and once, wherever its server dies", async () => {
  let kills = 0;
  for (let at = 0; ; at += 1) {
    const { lease, server } = await begun();
    const { writtenExecutions } = server;
    const dying = reportServer(scene, { db: killedAt(scene.server.db, at).db, writtenExecutions });
    const operations = [step(lease, 2), lease.operation("logs", { chunks: [logChunk("once")] })];
    const isKilled = await dying.report(...operations).then(
      () => false,
      (error: unknown) => {
        if (!(error instanceof Killed)) throw error;
        return true;
      },
    );
    const { journal, logs } = await stored(lease);
    assert.ok(journal.length - 1 === logs.length, `after a crash at ${at}`);
    assert.deepEqual(await reportServer(scene).report(...operations), [true, true]);
    const told = await stored(lease);
    assert.deepEqual([told.journal.length, told.logs.length], [2, 1], `told again after a crash at ${at}`);
    if (!isKilled) break;
    kills += 1;
  }
  assert.equal(kills, 2);
});

/** One of the operations that only the row of their run decides. */
const OPERATIONS: readonly ((random: Random, position: number) => [string, object])[] = [
  (random, position) => [
    "steps",
    {
      entries: [
        { position, kind: "step", name: "a", value: random() },
        { position: position + 1, kind: "step", name: "b", error: { name: "E", message: "no" } },
      ],
    },
  ],
  (random) => ["logs", { chunks: [logChunk(`${random()}`), logChunk("more", "stderr")] }],
  () => ["events", { events: [NOTE] }],
];

test("reports in one statement leave what reports in a transaction leave", async () => {
  const seed = newSeed();
  console.log(`seed ${seed}`);
  const leaveBehind = async (isKnown: boolean): Promise<Json[]> => {
    const random = seededRandom(seed);
    const server = reportServer(scene);
    const leases = [await scene.leased(), await scene.leased(), await scene.leased()];
    await server.report(...leases.map((lease) => lease.operation("start")));
    let position = 1;
    for (let round = 0; round < 30; round += 1) {
      const operations = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
        const [kind, content] = pick(random, OPERATIONS)(random, (position += 2));
        return pick(random, leases).operation(kind, content);
      });
      if (!isKnown) server.writtenExecutions.forgetAll();
      assert.ok((await server.report(...operations)).every(Boolean));
    }
    const live = await Promise.all(leases.map(stored));
    await server.report(
      ...leases.map((lease) => lease.operation("release", { outcome: "succeeded", output: 1 })),
    );
    return [live, await Promise.all(leases.map(stored))];
  };
  assert.deepEqual(await leaveBehind(true), await leaveBehind(false));
});
