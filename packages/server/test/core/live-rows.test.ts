// While somebody holds an old snapshot of the database, what looks for the leases of a worker and for active processes looks at
// none of those that came and went.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import { hasOverdue } from "../../src/core/executions/execution-reads.ts";
import { listRequestedEnds } from "../../src/core/leases/requested-end-reads.ts";
import { lookForProcesses } from "../../src/core/processes/look-for-processes.ts";
import { listActive } from "../../src/core/processes/process-reads.ts";
import { listResumptions } from "../../src/core/waits/wait-reads.ts";
import { sql } from "../../src/db/sql.ts";
import { createLiveIds, type Among, type LiveIds } from "../../src/live-ids.ts";
import { holding } from "../support/hold-snapshot.ts";
import { readPlan, type PlanReads } from "../support/read-plan.ts";
import { liveLeasesOf, readyRunsOf, type ReadyRuns } from "../support/ready-runs.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../support/workspace-worker.ts";
import { workspaceCalls } from "../support/workspaces.ts";

const ENDED = 6_000;
const LEASE_MS = 15_000;
/** Blocks that a look may read, whatever came and went. */
const FEW = 150;

let scene: RunScene;
let ready: ReadyRuns;
let workerId: Uuid<"wkr">;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  ready = await readyRunsOf(scene);
  workerId = decodeId("wkr", scene.worker.id) as Uuid<"wkr">;
});
after(() => scene?.stop());

/** As after a vacuum of a table that was nearly empty. */
const forgetSizes = (table: string): Promise<unknown> =>
  scene.server.db.query(sql`UPDATE pg_class SET relpages = 1, reltuples = 0 WHERE oid = ${table}::regclass`);

/** Both are read: what a look costs that knows nothing, and one that knows which live. */
async function costs(
  live: Among | null,
  work: (live: Among | null) => Promise<unknown>,
): Promise<{ looking: PlanReads; known: PlanReads }> {
  const cost = async (among: Among | null): Promise<PlanReads> => {
    const [query] = await recordOwnQueries(async () => void (await work(among)));
    assert.ok(query !== undefined);
    return readPlan(scene.server.db, query);
  };
  return { looking: await cost(null), known: await cost(live) };
}

function assertBounded({ looking, known }: { looking: PlanReads; known: PlanReads }): void {
  assert.ok(known.blocks < FEW, `${known.blocks} blocks: ${known.scans.join("; ")}`);
  assert.ok(looking.blocks > 3 * known.blocks, `${looking.blocks} and ${known.blocks} blocks`);
}

describe("leases of a worker", () => {
  let live: LiveIds;
  beforeEach(async () => {
    await scene.server.db.query(sql`DELETE FROM executions`);
    await scene.server.db.maintain(sql`VACUUM executions`);
    live = liveLeasesOf(scene);
    live.hold(true);
  });

  /** Leased runs that are to end. Their leases have the times of the runs. */
  async function lease(runs: number): Promise<string[]> {
    const environment = randomUUID();
    await ready.add([environment], runs);
    const leased = await scene.server.db.query<{ runId: string }>(sql`
      UPDATE executions SET status = 'cancel_requested', ready = false, worker_id = ${workerId}, lease_id = run_id, epoch = 1,
        lease_expires_at = now() + interval '1 hour', wait_count = 1, cancel_requested_at = now() + interval '1 hour'
      WHERE environment_id = ${environment} RETURNING run_id`);
    await forgetSizes("executions");
    return leased.map(({ runId }) => runId);
  }

  async function leaseOne(): Promise<string> {
    const [run] = await lease(1);
    assert.ok(run !== undefined);
    return run;
  }

  const endAll = async (): Promise<void> => {
    await scene.server.db.query(sql`DELETE FROM executions`);
    scene.clock.advance(60_000);
  };
  const toldOf = async (among: Among | null): Promise<string[]> =>
    (await listRequestedEnds(scene.server.db, workerId, among)).cancellations
      .map(({ runId }) => runId)
      .sort();
  const overdue = (among: Among | null): Promise<{ isOverdue: boolean }[]> =>
    scene.server.db.query(
      sql`SELECT ${hasOverdue({ now: scene.clock.now(), graceMs: 0, leaseDurationMs: LEASE_MS }, among)} AS is_overdue`,
    );

  const LOOKS: Record<string, (among: Among | null) => Promise<unknown>> = {
    "for what a worker is to end": (among) => listRequestedEnds(scene.server.db, workerId, among),
    "for what a worker's runs go on with": (among) => listResumptions(scene.server.db, workerId, among),
    "for what is overdue": overdue,
    "for which live": () => live.look(),
  };
  for (const [what, work] of Object.entries(LOOKS))
    test(`a look ${what} steps over none that came and went`, () =>
      holding(scene.server.db, async () => {
        await lease(ENDED);
        await endAll();
        await lease(1);
        await live.look();
        assertBounded(
          what === "for which live"
            ? { looking: await costOfComplete(), known: await costOfNext() }
            : await costs(live.of(workerId), work),
        );
      }));

  const costOfLook = async (look: () => Promise<void>): Promise<PlanReads> => {
    const [query] = await recordOwnQueries(look);
    assert.ok(query !== undefined);
    return readPlan(scene.server.db, query);
  };
  const costOfNext = (): Promise<PlanReads> => costOfLook(() => live.look());
  async function costOfComplete(): Promise<PlanReads> {
    const other = liveLeasesOf(scene);
    other.hold(true);
    return costOfLook(() => other.look());
  }

  test("an older one, a newer one, and one that another worker has are told apart", async () => {
    const older = await leaseOne();
    scene.clock.advance(60_000);
    await live.look();
    const newer = await leaseOne();
    const foreign = await leaseOne();
    await scene.server.db.query(
      sql`UPDATE executions SET worker_id = ${randomUUID()} WHERE run_id = ${foreign}`,
    );
    assert.deepEqual(live.of(workerId)?.older, [older]);
    assert.deepEqual(await toldOf(live.of(workerId)), [older, newer].sort());
    scene.clock.advance(60_000);
    await live.look();
    assert.deepEqual(live.all()?.older.toSorted(), [older, newer, foreign].sort());
    assert.deepEqual(await toldOf(live.of(workerId)), [older, newer].sort());
    assert.deepEqual(await toldOf(null), [older, newer].sort());
  });

  test("an overdue one is found among the older and among the newer ones", async () => {
    const isOverdue = async (): Promise<boolean | undefined> => (await overdue(live.all()))[0]?.isOverdue;
    const overrun = (run: string): Promise<unknown> =>
      scene.server.db.query(
        sql`UPDATE executions SET cancel_requested_at = '2000-01-01' WHERE run_id = ${run}`,
      );
    const older = await leaseOne();
    scene.clock.advance(60_000);
    await live.look();
    assert.equal(await isOverdue(), false);
    await overrun(older);
    assert.equal(await isOverdue(), true);
    await scene.server.db.query(sql`DELETE FROM executions`);
    assert.equal(await isOverdue(), false);
    const newer = await leaseOne();
    await overrun(newer);
    assert.equal(await isOverdue(), true);
  });
});

describe("active processes of a worker's workspaces", () => {
  let worker: WorkspaceWorker;
  let live: LiveIds;
  let workspace: string;
  // What a route answered is looked into freely by a test.
  // oxlint-disable-next-line typescript/no-explicit-any
  let leased: any;
  let workspacesOf: Uuid<"wkr">;
  before(async () => {
    worker = await startWorkspaceWorker(scene.server);
    ({ id: workspace } = await workspaceCalls(scene.server).create());
    await create();
    leased = await worker.take();
    assert.equal((await worker.live(leased)).status, 200);
    const [row] = await scene.server.db.query<{ id: Uuid<"wkr"> }>(
      sql`SELECT worker_id AS id FROM materializations WHERE id = ${decodeId("mat", leased.materialization_id)}`,
    );
    workspacesOf = row?.id as Uuid<"wkr">;
    live = createLiveIds({
      clock: scene.clock.now,
      list: (older, among) => listActive(scene.server.db, older, among),
    });
    live.hold(true);
  });

  async function create(): Promise<string> {
    const created = await scene.server.call("POST", `/api/workspaces/${workspace}/execs`, {
      body: { command: ["true"] },
    });
    assert.equal(created.status, 201, created.text);
    return created.body.id;
  }
  const startsOf = async (known: readonly string[] = []): Promise<string[]> => {
    const held = {
      ...{ environmentId: leased.environment_id, materializationId: leased.materialization_id },
      ...{ epoch: leased.epoch, stopping: false },
      processes: known.map((processId) => ({
        ...{ processId, inputOffset: 0, inputClosed: false, controlSequence: 0 },
      })),
    };
    const look = { db: scene.server.db, liveProcesses: live };
    const { starts } = await lookForProcesses(look, workspacesOf, [held]);
    return starts.map(({ kind, id }) => encodeId(kind, id)).sort();
  };

  test("an older one and a newer one are given, and none that came and went is stepped over", () =>
    holding(scene.server.db, async () => {
      const [first] = await startsOf();
      assert.ok(first !== undefined);
      // As many as the commands of a busy workspace.
      await scene.server.db.query(sql`
        INSERT INTO processes SELECT n.* FROM processes p, unnest(${Array.from({ length: ENDED }, () => ready.newUuid())}::uuid[]) AS c (id),
          LATERAL jsonb_populate_record(NULL::processes, to_jsonb(p) || jsonb_build_object('id', c.id)) n`);
      await scene.server.db.query(
        sql`UPDATE processes SET status = 'exited', exit_code = 0, finished_at = now() WHERE id <> ${decodeId("exec", first)}`,
      );
      await forgetSizes("processes");
      scene.clock.advance(60_000);
      await live.look();
      const newer = await create();
      assert.deepEqual(await startsOf(), [first, newer].sort());
      assert.deepEqual(await startsOf([first]), [newer]);
      const costOf = async (): Promise<PlanReads> => {
        const queries = await recordOwnQueries(async () => void (await startsOf()));
        const query = queries.find(({ text }) => text.includes("live_in"));
        assert.ok(query !== undefined);
        return readPlan(scene.server.db, query);
      };
      const known = await costOf();
      live.hold(false);
      assertBounded({ looking: await costOf(), known });
      assert.deepEqual(await startsOf(), [first, newer].sort());
    }));
});
