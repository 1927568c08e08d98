// Runs that have begun before and runs that have not each get their share of what a worker leases.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { until } from "../support/until.ts";

const RESUMED = 120;
const FRESH = 12;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

/** Starts runs that wait for a time that has come. @returns their ids. */
async function startResumed(): Promise<Set<string>> {
  for (let n = 0; n < RESUMED; n += 1) await scene.start("plain");
  const { executions } = await scene.worker.lease({ limit: RESUMED });
  assert.equal(executions.length, RESUMED);
  const ids: string[] = [];
  for (const execution of executions) {
    const lease = scene.worker.hold(execution);
    const wait = { position: 1, name: "sleep", kind: "timer", timeout: "1s" };
    const operations = [
      lease.operation("start"),
      lease.operation("waits", { waits: [wait], parked: true }),
      lease.operation("release", { outcome: "suspended" }),
    ];
    assert.deepEqual(new Set(await scene.worker.report(...operations)), new Set([200]));
    ids.push(lease.runId);
  }
  scene.clock.advance(2_000);
  const isQueued = async (id: string): Promise<boolean> => (await scene.get(id)).status === "queued";
  for (const id of ids) await until("the run to be queued again", 60_000, () => isQueued(id));
  return new Set(ids);
}

async function take(limit: number): Promise<string[]> {
  const { executions } = await scene.worker.lease({ limit });
  return executions.map((execution: object) => scene.worker.hold(execution).runId);
}

for (const { name, limit } of [
  { name: "claims of many", limit: 8 },
  { name: "claims of one", limit: 1 },
])
  test(
    `${RESUMED} resumed runs do not hold back those that are started then: ${name}`,
    { timeout: 60_000 },
    async () => {
      const resumed = await startResumed();
      const fresh: string[] = [];
      for (let n = 0; n < FRESH; n += 1) fresh.push((await scene.start("plain")).id as string);
      const order: string[] = [];
      while (order.length < RESUMED + FRESH) {
        const taken = await take(limit);
        assert.ok(taken.length > 0, `only ${order.length} runs were given out`);
        order.push(...taken);
      }
      // With eight, half of each claim; with one, each of them has an even chance.
      const last = order.indexOf(fresh.at(-1) as string);
      assert.ok(last < (limit === 1 ? 6 : 2.5) * FRESH, `the last fresh run came as number ${last}`);
      assert.deepEqual(
        order.filter((id) => !resumed.has(id)),
        fresh,
      );
      // Nor do those hold the resumed ones back.
      assert.ok(order.slice(0, 2 * FRESH).filter((id) => resumed.has(id)).length >= FRESH / 3);
    },
  );

test("a higher priority comes first, whether it has begun or not", async () => {
  await startResumed();
  const urgent = (await scene.start("plain", { priority: 5 })).id as string;
  assert.deepEqual(await take(1), [urgent]);
});
