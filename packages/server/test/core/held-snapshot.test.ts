// While somebody holds an old snapshot of the database, the queue keeps every entry that ever was, and claims do not look at it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import type { Uuid } from "@keelson/contract";
import type { ClaimContext } from "../../src/core/executions/claim-executions.ts";
import { takeNewShards } from "../../src/core/count-shards.ts";
import { createVacuum } from "../../src/core/executions/vacuum-executions.ts";
import { moveCountsBack } from "../../src/core/runs/move-counts.ts";
import { sql } from "../../src/db/sql.ts";
import type { NotedRun } from "../../src/noted-fact.ts";
import { holding } from "../support/hold-snapshot.ts";
import { readPlan, type PlanReads } from "../support/read-plan.ts";
import { readyRunsOf, type ReadyRuns } from "../support/ready-runs.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { until } from "../support/until.ts";

const ENDED = 6_000;

let scene: RunScene;
let ready: ReadyRuns;
const environment = randomUUID();
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  ready = await readyRunsOf(scene);
});
after(() => scene.stop());
beforeEach(async () => {
  await scene.server.db.query(sql`DELETE FROM executions`);
  await scene.server.db.maintain(sql`VACUUM executions`);
});

/** Runs that came and went; the clock moves on with them. */
async function endRuns(begunBefore = false): Promise<void> {
  await ready.add([environment], ENDED);
  await scene.server.db.query(sql`UPDATE executions SET attempt_number = ${begunBefore ? 1 : 0}`);
  await scene.server.db.query(sql`UPDATE executions SET ready = false WHERE ready`);
  await scene.server.db.query(sql`DELETE FROM executions`);
  scene.clock.advance(60_000);
}

/** What a claim of one run costs that is there now. */
async function costOf(context: ClaimContext): Promise<PlanReads> {
  await ready.add([environment], 1);
  await context.readyFronts.of(ready.workerGroupId);
  const [claim] = await ready.recordClaim(context, 1);
  assert.ok(claim !== undefined);
  return readPlan(scene.server.db, claim);
}

// The first of all: after a snapshot was held, the server itself moves counts back at some time.
test("counts of runs go to new rows while dead ones cannot be removed, and back afterwards", async () => {
  const { db } = scene.server;
  const counts = async (): Promise<Record<string, number>> =>
    (await scene.call("GET", "/api/runs/counts")).body.counts;
  const highestShard = async (): Promise<number> => {
    const [row] = await db.query<{ shard: number }>(sql`SELECT max(shard) AS shard FROM run_counts`);
    return row?.shard ?? 0;
  };
  await scene.start("plain");
  takeNewShards();
  // The server itself moves them back now and then: whoever looks sees them there, if not at once.
  await until("counts go to new rows", 60_000, async () => {
    await scene.cancel((await scene.start("plain")).id);
    return (await highestShard()) >= 64;
  });
  const before = await counts();
  await scene.start("plain");
  const run = await scene.start("plain");
  await scene.worker.finish(await scene.worker.takeOne());
  const { queued = 0, succeeded = 0, cancelled = 0 } = before;
  assert.deepEqual(await counts(), { ...before, queued: queued + 1, succeeded: succeeded + 1 });
  // Two servers that are done with it, while another still writes there.
  await Promise.all([moveCountsBack(db), moveCountsBack(db), scene.cancel(run.id)]);
  await moveCountsBack(db);
  assert.ok((await highestShard()) < 64);
  assert.deepEqual(await counts(), { ...before, succeeded: succeeded + 1, cancelled: cancelled + 1 });
});

test("a claim where runs are known to begin looks at none that came and went", () =>
  holding(scene.server.db, async () => {
    await endRuns();
    const looking = await costOf(ready.begin(false));
    const known = await costOf(ready.begin(true));
    assert.ok(known.blocks < 150, `${known.blocks} blocks`);
    assert.ok(looking.blocks > 3 * known.blocks, `${looking.blocks} and ${known.blocks} blocks`);
  }));

const resumed = async (): Promise<NotedRun> => {
  await ready.add([environment], 1);
  const [row] = await scene.server.db.query<{ runId: Uuid<"run"> }>(
    sql`UPDATE executions SET attempt_number = 1 WHERE ready RETURNING run_id`,
  );
  assert.ok(row);
  const execution = {
    ...{ ...row, environmentId: environment as Uuid<"env">, workerGroupId: ready.workerGroupId },
    ...{
      workspaceId: null,
      requiredIsolation: null,
      priority: 0,
      ready: true,
      attemptNumber: 1,
      startedAt: null,
    },
  };
  return { execution, startedBefore: true, ending: null, retriedAfter: null, leaseLost: null, events: [] };
};

test("a claim of a run that was resumed looks at none that came and went, and takes it at once", () =>
  holding(scene.server.db, async () => {
    await endRuns(true);
    const context = ready.begin(true);
    await context.readyFronts.of(ready.workerGroupId);
    context.knownRuns.note([await resumed()]);
    const [claim] = await ready.recordClaim(context, 1);
    assert.ok(claim !== undefined);
    const { blocks, scans } = await readPlan(scene.server.db, claim);
    assert.ok(blocks < 150, `${blocks} blocks: ${scans.join("; ")}`);
    // The claim was undone: the run is found again.
    await until("it is claimed again", 60_000, async () => (await ready.claim(context, 1)).length === 1);
  }));

test("runs that another server resumed are found a little later, and what others have taken is forgotten", () =>
  holding(scene.server.db, async () => {
    const context = ready.begin(true);
    assert.deepEqual(await ready.claim(context, 16), []);
    const stale = await resumed();
    await scene.server.db.query(sql`DELETE FROM executions`);
    context.knownRuns.note([stale]);
    await ready.add([environment], 3);
    await scene.server.db.query(sql`UPDATE executions SET attempt_number = 2`);
    let claimed = 0;
    await until("all three are claimed", 60_000, async () => {
      claimed += (await ready.claim(context, 1)).length;
      return claimed === 3;
    });
    await until("none is known", 60_000, async () => {
      await context.readyFronts.of(ready.workerGroupId);
      return context.knownRuns.listOf(ready.workerGroupId, "anywhere").length === 0;
    });
  }));

test("runs that are ready before the known front are found all the same, a little later", async () => {
  const context = ready.begin(true);
  await ready.add([environment], 1);
  assert.equal((await ready.claim(context, 16)).length, 1);
  // As one that was delayed, or that a slow transaction commits: its id is older than all that is looked at.
  scene.clock.advance(-3_600_000);
  await ready.add([environment], 1);
  scene.clock.advance(3_600_000);
  await until("the late run is claimed", 60_000, async () => (await ready.claim(context, 16)).length === 1);
});

test("runs of an environment that had none are found a little later, and from then on at once", async () => {
  const context = ready.begin(true);
  assert.deepEqual(await ready.claim(context, 16), []);
  const other = randomUUID();
  await ready.add([other], 1);
  await until("the first run is claimed", 60_000, async () => (await ready.claim(context, 16)).length === 1);
  await ready.add([other], 3);
  assert.equal((await ready.claim(context, 16)).length, 3);
});

test("resumed runs of one environment, or that cannot be had, do not stand before another one's", () =>
  holding(scene.server.db, async () => {
    const context = ready.begin(true);
    await ready.add([environment], 300);
    await scene.server.db.query(sql`UPDATE executions SET attempt_number = 1`);
    const other = randomUUID();
    await ready.add([other], 1);
    await scene.server.db.query(sql`UPDATE executions SET attempt_number = 1`);
    const taken = [...(await ready.claim(context, 1)), ...(await ready.claim(context, 1))];
    assert.deepEqual(new Set(taken.map(({ environmentId }) => environmentId)), new Set([environment, other]));
    // Of the 299, all but the last are somebody else's by now.
    await scene.server.db.query(sql`
      UPDATE executions SET ready = false
      WHERE run_id <> (SELECT max(run_id::text)::uuid FROM executions WHERE environment_id = ${environment})`);
    assert.equal((await ready.claim(context, 1)).length, 1);
  }));

test("the vacuum of the queue says when dead rows cannot be removed, gives up for a while, and says when they can be", async () => {
  const said: boolean[] = [];
  const { db } = scene.server;
  const vacuum = createVacuum({ db, readyFronts: { hold: (isHeld) => void said.push(isHeld) } });
  assert.equal(await vacuum.run(), false);
  await holding(scene.server.db, async (release) => {
    await endRuns();
    // PostgreSQL counts dead rows by and by.
    await until("a vacuum finds that rows are held", 60_000, async () => {
      await vacuum.run();
      return said.at(-1) === true;
    });
    assert.equal(await vacuum.run(), false);
    await release();
  });
  // This one's, or that of the server's own loop.
  await until("they are removed", 60_000, async () => {
    await vacuum.run();
    return said.at(-1) === false;
  });
});
