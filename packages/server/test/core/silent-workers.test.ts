// Who is given up for being silent: nobody, as long as nobody else is there to go on.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import { claimAnywhere } from "../../src/core/executions/claim-writes.ts";
import { lockOverdueExecutions } from "../../src/core/executions/execution-reads.ts";
import { listOverdue } from "../../src/core/materializations/materialization-reads.ts";
import { sql } from "../../src/db/sql.ts";
import { FIRST_UUID } from "../../src/uuid.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { startWorkspaceWorker } from "../support/workspace-worker.ts";
import { workspaceCalls } from "../support/workspaces.ts";

const LEASE_MS = 15_000;

let scene: RunScene;
let silent: RawWorker;
let lease: HeldLease;
before(async () => {
  scene = await startRunScene({
    tasks: [{ id: "plain" }],
    sandboxes: [{ id: "box" }],
  });
});
beforeEach(async () => {
  await scene.cancelAll();
  // Whoever is there from before is not heard any more.
  scene.clock.advance(60_000);
  silent = await enrollWorker(scene.server);
  lease = await scene.leased({}, silent);
  assert.deepEqual(await silent.report(lease.operation("start")), [200]);
});
after(() => scene?.stop());

const beat = (worker: RawWorker): Promise<unknown> => worker.call("POST", "/heartbeat", {});

/** Passes time in steps shorter than a lease, at the end of each of which these are heard. */
async function pass(ms: number, ...heard: RawWorker[]): Promise<void> {
  for (let left = ms; left > 0; left -= 5_000) {
    scene.clock.advance(Math.min(left, 5_000));
    await Promise.all(heard.map(beat));
  }
}

/** Whether the sweep would take the run now, by the same statement. */
const isGivenUp = (): Promise<boolean> =>
  scene.server.db.transaction(async (tx) => {
    const watch = { now: scene.clock.now(), leaseDurationMs: LEASE_MS };
    const rows = await lockOverdueExecutions(tx, { ...watch, graceMs: 20_000 }, 500);
    return rows.some(({ runId }) => encodeId("run", runId) === lease.runId);
  });

const isLost = (): Promise<unknown> => scene.happens(lease.runId, "lease.lost");

describe("a run on a silent worker", () => {
  test("stays there while nobody else is there, says so, and goes on when the worker is heard", async () => {
    await pass(600_000);
    assert.equal(await isGivenUp(), false);
    const { status, status_reason: reason } = await scene.get(lease.runId);
    assert.deepEqual([status, reason.kind], ["running", "lease_recovery"]);
    assert.match(reason.message, /heard last at 2.*start an agent in group default/);
    assert.deepEqual((await silent.renew(lease)).renewed, [lease.fields.lease_id]);
    assert.equal((await scene.get(lease.runId)).status_reason, null);
    await silent.report(lease.operation("release", { outcome: "succeeded" }));
    const kinds = await scene.eventKinds(lease.runId);
    assert.deepEqual(kinds.slice(2), ["run.leased", "run.started", "run.succeeded"]);
  });

  test("is taken back once another worker of the group was heard for a whole lease, and no sooner", async () => {
    await pass(60_000);
    const other = await enrollWorker(scene.server);
    await pass(LEASE_MS - 1_000, other);
    assert.equal(await isGivenUp(), false);
    await pass(1_000, other);
    await isLost();
    assert.equal((await other.takeOne()).runId, lease.runId);
  });

  test("is not taken back for one that was silent itself, does not take work, or has just been heard again", async () => {
    const gone = await enrollWorker(scene.server);
    const draining = await enrollWorker(scene.server);
    const idle = await enrollWorker(scene.server, { activate: false });
    await draining.call("POST", "/drain");
    await pass(60_000, draining, idle);
    assert.equal(await isGivenUp(), false);
    await beat(gone);
    assert.equal(await isGivenUp(), false);
    await pass(LEASE_MS, gone);
    await isLost();
  });

  test("is not taken back for one that cannot take it over", async () => {
    const unable = await enrollWorker(scene.server, { workspaces: 4 });
    const register = async (executions: number): Promise<void> => {
      const registration = { capacity: { executions, workspaces: 4 }, worker_protocol_version: 1 };
      assert.equal((await unable.call("POST", "/register", registration)).status, 200);
      assert.equal((await unable.call("POST", "/activate")).status, 200);
    };
    const require = (deployment: string | null, isolation: string | null): Promise<unknown> =>
      scene.server.db.transaction(async (tx) => {
        const runId = decodeId("run", lease.runId);
        await tx.query(sql`UPDATE deployments d SET requirement = ${deployment} FROM runs r
          WHERE r.id = ${runId} AND d.environment_id = r.environment_id AND d.id = r.deployment_id`);
        await tx.query(sql`UPDATE executions SET required_isolation = ${isolation} WHERE run_id = ${runId}`);
      });
    await register(0);
    await pass(60_000, unable);
    assert.equal(await isGivenUp(), false);
    await register(1);
    await require("a system of another kind", null);
    await pass(LEASE_MS, unable);
    assert.equal(await isGivenUp(), false);
    await require(null, "namespace");
    assert.equal(await isGivenUp(), false);
    await require(null, null);
    await pass(1_000, unable);
    await isLost();
  });

  test("is taken back when its worker is heard for a whole lease and does not renew it", async () => {
    await pass(60_000);
    await beat(silent);
    await pass(LEASE_MS - 1_000, silent);
    assert.equal(await isGivenUp(), false);
    await pass(1_000, silent);
    await isLost();
  });

  test("is taken back when another process of its worker begins", async () => {
    await pass(60_000);
    const registration = { capacity: { executions: 1, workspaces: 0 }, worker_protocol_version: 1 };
    assert.equal((await silent.call("POST", "/register", registration)).status, 200);
    await isLost();
  });

  test("is taken back when its worker is drained", async () => {
    await pass(60_000);
    await silent.call("POST", "/drain");
    await isLost();
  });

  test("ends when it is cancelled, and not by its max_duration", async () => {
    await pass(60_000);
    assert.equal((await scene.cancel(lease.runId)).status, 200);
    await pass(21_000);
    await scene.happens(lease.runId, "run.cancelled");
    const short = await scene.leased({ max_duration: "5s" }, silent);
    assert.deepEqual(await silent.report(short.operation("start")), [200]);
    lease = short;
    await pass(60_000);
    assert.equal(await isGivenUp(), false);
    assert.deepEqual((await silent.renew(short)).renewed, [short.fields.lease_id]);
  });
});

test("a workspace on a silent worker stays there while nobody else is there, and a lease longer for its next process", async () => {
  const { server, clock } = scene;
  const calls = workspaceCalls(server);
  const holder = await startWorkspaceWorker(server);
  const { id } = await calls.create({ sandbox: "box" });
  const at = `/api/workspaces/${id}`;
  await server.call("POST", `${at}/materialize`);
  await holder.live(await holder.take());
  const overdue = async (): Promise<number> =>
    (await listOverdue(server.db, { now: clock.now(), leaseDurationMs: LEASE_MS }, 100)).length;

  await pass(60_000);
  assert.equal(await overdue(), 0);
  const { body } = await server.call("GET", at);
  assert.deepEqual([body.materialization.status, body.status_reason.kind], ["live", "no_worker"]);
  assert.match(body.status_reason.message, /cannot be heard/);
  const registration = { capacity: { executions: 0, workspaces: 4 }, worker_protocol_version: 1 };
  assert.equal((await holder.call("/register", registration)).status, 200);
  assert.equal(await overdue(), 0);

  const unable = await enrollWorker(server);
  await pass(60_000, unable);
  assert.equal(await overdue(), 0);
  const other = await enrollWorker(server, { workspaces: 1 });
  await pass(LEASE_MS, other);
  for (;;) {
    const { materialization } = (await server.call("GET", at)).body;
    if (materialization.status === "failed") break;
    assert.equal(materialization.status, "live");
  }
});

test("an open poll of a worker that is not heard any more is given nothing new", async () => {
  await silent.report(lease.operation("release", { outcome: "succeeded" }));
  const requestId = "open";
  const open = silent.lease({ wait: "60s", requestId });
  await silent.seesRequest(requestId);
  const other = await enrollWorker(scene.server);
  await pass(LEASE_MS, other);
  const run = await scene.start("plain");
  assert.equal((await other.takeOne()).runId, run.id);
  await silent.call("POST", "/drain");
  assert.deepEqual((await open).executions, []);
});

test("the rounds of an open poll are no sign of its worker", async () => {
  const { server, clock } = scene;
  const workerId = decodeId("wkr", silent.id) as Uuid<"wkr">;
  const seen = async () => {
    const [row] = await server.db.query<{ at: number; workerGroupId: Uuid<"wgrp"> }>(
      sql`SELECT last_seen_at AS at, worker_group_id FROM workers WHERE id = ${workerId}`,
    );
    assert.ok(row);
    return row;
  };
  await beat(silent);
  const { at: calledAt, workerGroupId } = await seen();
  clock.advance(8_000);
  const now = clock.now();
  const call = {
    workerId,
    workerGroupId,
    leaseRequestId: "open",
    calledAt,
    meets: [],
    limit: 0,
    leaseIds: [],
  };
  const walk = { start: FIRST_UUID, from: null, limit: 0 };
  await claimAnywhere(server.db, { ...call, now, leaseExpiresAt: now + LEASE_MS }, walk);
  assert.equal((await seen()).at, calledAt);
});
