// A clock that was forty days ahead and is right again leaves nothing behind that waits for the false date.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { clockLoops } from "../../src/loops/clock-loops.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { digestOf } from "../support/api-server.ts";
import { createBody } from "../support/deploy.ts";
import { passHeard } from "../support/outlast-leases.ts";
import { enrollWorker } from "../support/raw-worker.ts";
import { LOOP_ROUND } from "../support/loop-round.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { startWorkspaceWorker } from "../support/workspace-worker.ts";
import { workspaceCalls } from "../support/workspaces.ts";

const AHEAD_MS = 40 * 86_400_000;
const LEASE_MS = 15_000;

let scene: RunScene;
let isSettled = false;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], sandboxes: [{ id: "box" }] });
});
after(() => scene?.stop());

const works = () =>
  clockLoops({
    db: scene.server.db,
    clock: scene.clock.now,
    leaseDurationMs: LEASE_MS,
    timekeeper: { isSettled: () => isSettled },
  });

/** What the loops do in their round after the clock was set back. */
const putRight = async (): Promise<void> => {
  for (const { run } of works()) await run(LOOP_ROUND);
};

/** Does something while the clock is ahead, and sets it back. */
async function whileAhead(act: () => Promise<void>): Promise<void> {
  scene.clock.advance(AHEAD_MS);
  try {
    await act();
  } finally {
    scene.clock.advance(-AHEAD_MS);
  }
}

const untilRight = (at: string): number => Date.parse(at) - scene.clock.now();

describe("after a clock that was ahead was set back", () => {
  test("a schedule comes due at its next time, also where its ledger says that it did", async () => {
    const { server } = scene;
    const { body: schedule } = await server.call("POST", "/api/schedules", {
      body: { task: "plain", deduplication_key: "minutely", cron: "* * * * *" },
    });
    const at = `/api/schedules/${schedule.id}`;
    const next = async (): Promise<number> => untilRight((await server.call("GET", at)).body.next_run_at);
    await whileAhead(async () => {
      while ((await next()) < 0) await new Promise(setImmediate);
    });
    assert.ok((await next()) > AHEAD_MS - 120_000);
    await putRight();
    const ms = await next();
    assert.ok(ms > 0 && ms <= 60_000, String(ms));
    scene.clock.advance(AHEAD_MS);
    while ((await next()) < 0) await new Promise(setImmediate);
    scene.clock.advance(-AHEAD_MS);
    await putRight();
    assert.equal((await server.call("DELETE", at)).status, 204);
    await scene.cancelAll();
  });

  test("a run whose worker died then is leased again after a lease", async () => {
    let runId = "";
    await whileAhead(async () => {
      const dead = await enrollWorker(scene.server);
      const lease = await scene.leased({}, dead);
      assert.deepEqual(await dead.report(lease.operation("start")), [200]);
      assert.deepEqual((await dead.renew(lease)).renewed, [lease.fields.lease_id]);
      ({ runId } = lease);
    });
    await putRight();
    await passHeard(scene, LEASE_MS + 1_000);
    await scene.happens(runId, "lease.lost");
    await scene.cancelAll();
  });

  /** Until when the run waits whose row that clock has written: rows are stamped by PostgreSQL itself, whose clock a test does not set. */
  async function dueAfterAll({ runId }: { runId: string }): Promise<number> {
    const { db } = scene.server;
    const id = decodeId("run", runId);
    await db.query(sql`UPDATE executions SET available_at = now() + interval '40 days 1 hour',
      updated_at = now() + interval '40 days' WHERE run_id = ${id}`);
    await putRight();
    const [row] = await db.query<{ ms: number }>(
      sql`SELECT available_at AS ms FROM executions WHERE run_id = ${id}`,
    );
    assert.ok(row !== undefined);
    return row.ms - scene.clock.now();
  }

  test("a try that was put off then is made as much later as it was to be", async () => {
    const lease = await scene.leased({ retry: { max_attempts: 2 } });
    await scene.worker.finish(lease, "failed", {
      failure: { kind: "application_error", message: "no", retryable: true },
    });
    assert.ok(Math.abs((await dueAfterAll(lease)) - 3_600_000) < 60_000);
    await scene.cancelAll();
  });

  test("a run that continued then goes on as much later as it was to, and a start for a date stays one", async () => {
    const lease = await scene.leased();
    await scene.worker.finish(lease, "continued", { payload: null });
    assert.ok(Math.abs((await dueAfterAll(lease)) - 3_600_000) < 60_000);
    const later = await scene.start("plain", { delay: "1h" });
    assert.ok((await dueAfterAll({ runId: later.id })) > AHEAD_MS);
    await scene.cancelAll();
  });

  test("a workspace of a worker that died then is lost after a lease", async () => {
    const calls = workspaceCalls(scene.server);
    const { id } = await calls.create({ sandbox: "box" });
    await whileAhead(async () => {
      const dead = await startWorkspaceWorker(scene.server);
      await scene.server.call("POST", `/api/workspaces/${id}/materialize`);
      await dead.live(await dead.take());
    });
    await putRight();
    await passHeard(scene, LEASE_MS + 1_000);
    for (;;) {
      const { body } = await scene.server.call("GET", `/api/workspaces/${id}`);
      if (body.materialization.status === "failed") break;
    }
  });

  test("a deployment is checked", async () => {
    const { server, worker } = scene;
    const bytes = new TextEncoder().encode("export const later = {};");
    await server.call("PUT", `/v1/deployment-bundles/${digestOf(bytes)}`, { bytes });
    const body = createBody({ tasks: [{ id: "later" }] }, { bundle_digest: digestOf(bytes) });
    const { body: deployment } = await server.call("POST", "/v1/deployments", { body });
    const checks = async (by: typeof worker): Promise<string[]> =>
      (await by.lease()).deployment_checks.map((check: { deployment_id: string }) => check.deployment_id);
    await whileAhead(async () => assert.deepEqual(await checks(await enrollWorker(server)), [deployment.id]));
    await putRight();
    scene.clock.advance(60_000);
    // Not at once: a check that was interrupted is repeated after a while.
    while (!(await checks(await enrollWorker(server))).includes(deployment.id)) scene.clock.advance(1_000);
  });

  test("nothing is looked at again once the time has stood", async () => {
    const looked = works();
    for (const { run } of looked) await run(LOOP_ROUND);
    isSettled = true;
    const { db } = scene.server;
    await db.query(sql`UPDATE workers SET last_seen_at = now() + interval '40 days'`);
    for (const { run } of looked) await run(LOOP_ROUND);
    const ahead = sql`SELECT FROM workers WHERE last_seen_at > now() + interval '1 day'`;
    assert.notEqual((await db.query(ahead)).length, 0);
    await putRight();
    assert.equal((await db.query(ahead)).length, 0);
  });
});

test("ids are made in the order of time again after a clock that was far ahead, and stay in order after one that was not", () => {
  let now = 1_750_000_000_000;
  const newUuid = createUuidGenerator(() => now);
  const first = newUuid();
  now += AHEAD_MS;
  const ahead = newUuid();
  now -= AHEAD_MS - 5_000;
  const right = newUuid();
  now -= 2_000;
  const next = newUuid();
  assert.deepEqual([first, ahead, right, next].toSorted(), [first, right, next, ahead]);
});
