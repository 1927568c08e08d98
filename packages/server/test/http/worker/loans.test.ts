// A slot that a report gives back goes to a worker that waits, in the report's own transaction.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { enrollWorker, type RawWorker } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { until } from "../../support/until.ts";

let scene: RunScene;
let other: RawWorker;
before(async () => {
  scene = await startRunScene({
    tasks: [{ id: "one", queue: "one" }],
    queues: [{ name: "one", concurrency_limit: 1 }],
  });
  other = await enrollWorker(scene.server);
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

/** Two runs of which one has the slot and ends, while the other worker waits for work. */
async function passOn() {
  const [first, second] = [await scene.start("one"), await scene.start("one")];
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, first.id);
  const requestId = randomUUID();
  const polling = other.lease({ requestId, wait: "60s" });
  await other.seesRequest(requestId);
  return { first, second, lease, polling };
}

/** Whether the second run was leased by the transaction in which the first one ended. */
async function areOne(first: string, second: string): Promise<boolean> {
  const [row] = await scene.server.db.query<{ areOne: boolean }>(sql`
    SELECT e.xmin = x.xmin AS are_one FROM executions e, run_results x
    WHERE e.run_id = ${decodeId("run", second)} AND x.run_id = ${decodeId("run", first)}`);
  return row?.areOne === true;
}

describe("a slot that a report gives back", () => {
  test("is leased with it", async () => {
    await until("a poll was open by the time of the report", 60_000, async () => {
      const { first, second, lease, polling } = await passOn();
      await scene.worker.finish(lease);
      const { executions } = await polling;
      assert.deepEqual(
        executions.map(({ run, epoch }: { run: { id: string }; epoch: number }) => [run.id, epoch]),
        [[second.id, 1]],
      );
      const isLent = await areOne(first.id, second.id);
      await other.finish(other.hold(executions[0]));
      return isLent;
    });
  });

  test("is not leased to a worker that drains", async () => {
    const { second, lease, polling } = await passOn();
    const id = decodeId("wkr", other.id);
    // As by another server, whose word has not come yet.
    await scene.server.db.query(sql`UPDATE workers SET status = 'draining' WHERE id = ${id}`);
    await scene.worker.finish(lease);
    const { executions, draining } = await polling;
    assert.deepEqual([executions, draining], [[], true]);
    const next = await scene.worker.takeOne();
    assert.deepEqual([next.runId, next.execution.epoch], [second.id, 1]);
    await scene.worker.finish(next);
  });
});
