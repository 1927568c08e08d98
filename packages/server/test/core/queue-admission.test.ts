import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { outlastLeases } from "../support/outlast-leases.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { productionOf, startRunScene, type RunScene } from "../support/run-scene.ts";

const TASKS = [
  { id: "plain" },
  { id: "two", queue: "two" },
  { id: "keyed", queue: "keyed" },
  { id: "both", queue: "both" },
];
const QUEUES = [
  { name: "two", concurrency_limit: 2 },
  { name: "keyed", concurrency_key_limit: 2 },
  { name: "both", concurrency_limit: 3, concurrency_key_limit: 2 },
];

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: TASKS, queues: QUEUES });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

/** Whatever is ready now, in the order it is given out. */
async function takeReady(limit = 50): Promise<HeldLease[]> {
  const { executions } = await scene.worker.lease({ limit });
  return executions.length === 0 ? [] : executions.map((execution: object) => scene.worker.hold(execution));
}

const idsOf = (leases: { runId: string }[]): string[] => leases.map(({ runId }) => runId);
const FAILURE = { failure: { kind: "application_error", message: "x", retryable: true, retry_after: "30s" } };

describe("a queue with a concurrency limit", () => {
  test("lets as many run as it says, and the next when one ends, is cancelled or waits for its retry", async () => {
    const runs = [];
    for (let index = 0; index < 6; index += 1) runs.push((await scene.start("two")).id as string);
    const [a, b] = (await takeReady()) as [HeldLease, HeldLease];
    assert.deepEqual(idsOf([a, b]), runs.slice(0, 2));
    await scene.worker.finish(a);
    const [c] = (await takeReady()) as [HeldLease];
    assert.deepEqual(idsOf([c]), runs.slice(2, 3));
    await scene.worker.finish(b, "failed", FAILURE);
    const [d] = (await takeReady()) as [HeldLease];
    assert.deepEqual(idsOf([d]), runs.slice(3, 4));
    // The failed one has given its slot up, and queues for one when its time has come.
    scene.clock.advance(11_000);
    await scene.worker.renew(c, d);
    scene.clock.advance(11_000);
    await scene.worker.renew(c, d);
    scene.clock.advance(9_000);
    await scene.happens(b.runId, "run.queued", "5");
    assert.equal((await scene.get(b.runId)).status_reason.kind, "queue_limit");
    await scene.worker.finish(c);
    const [again] = (await takeReady()) as [HeldLease];
    assert.deepEqual([again.runId, again.execution.run.attempt_number], [b.runId, 2]);
    await scene.cancel(d.runId);
    assert.deepEqual(await takeReady(), []);
    await scene.worker.finish(d, "cancelled");
    const [e] = (await takeReady()) as [HeldLease];
    assert.deepEqual(idsOf([e]), runs.slice(4, 5));
    await scene.cancel(runs[5] as string);
    await scene.worker.finish(e);
    await scene.worker.finish(again);
    assert.deepEqual(await takeReady(), []);
  });

  test("keeps the slot of a run whose lease was lost", async () => {
    const runs = [];
    for (let index = 0; index < 3; index += 1) runs.push((await scene.start("two")).id as string);
    await scene.worker.take(2);
    await outlastLeases(scene);
    await scene.happens(runs[1] as string, "lease.lost");
    const leases = await scene.worker.take(2);
    assert.deepEqual(idsOf(leases), runs.slice(0, 2));
    assert.equal((await scene.get(runs[2] as string)).status_reason.kind, "queue_limit");
    for (const lease of leases) await scene.worker.finish(lease);
  });

  test("gives a free slot to the highest priority, then to the oldest", async () => {
    const holders = [await scene.start("two"), await scene.start("two")];
    const low = await scene.start("two", { priority: -5 });
    const normal = await scene.start("two");
    const high = await scene.start("two", { priority: 5 });
    const higher = await scene.start("two", { priority: 6 });
    const order: string[] = [];
    for (let leases = await takeReady(); leases.length > 0; leases = await takeReady()) {
      order.push(...idsOf(leases));
      for (const lease of leases) await scene.worker.finish(lease);
    }
    const expected = [...holders, higher, high, normal, low].map(({ id }) => id);
    assert.deepEqual(order, expected);
  });

  test("does not count a run before its time, which queues when it has come", async () => {
    const delayed = await scene.start("two", { delay: "5s" });
    const now = [await scene.start("two"), await scene.start("two")];
    const leases = await takeReady();
    assert.deepEqual(
      idsOf(leases),
      now.map(({ id }) => id),
    );
    scene.clock.advance(6_000);
    await scene.happens(delayed.id, "run.queued", "2");
    assert.deepEqual(await takeReady(), []);
    for (const lease of leases) await scene.worker.finish(lease);
    assert.deepEqual(idsOf(await takeReady()), [delayed.id]);
  });

  test("frees the slot of a run that expired", async () => {
    const expiring = await scene.start("two", { ttl: "5s" });
    const holder = await scene.start("two");
    const next = await scene.start("two");
    scene.clock.advance(6_000);
    await scene.happens(expiring.id, "run.expired");
    assert.deepEqual(idsOf(await takeReady()), [holder.id, next.id]);
  });

  test("is never passed by runs that many callers start and end at once", async () => {
    const starts = Array.from({ length: 30 }, () => scene.start("two"));
    let running = 0;
    let most = 0;
    let ended = 0;
    const lane = async (): Promise<void> => {
      while (ended < 30) {
        const leases = await takeReady(1);
        running += leases.length;
        most = Math.max(most, running);
        for (const lease of leases) {
          // Counted before the report: the next holder may be there before its answer.
          running -= 1;
          ended += 1;
          await scene.worker.finish(lease);
        }
      }
    };
    await Promise.all([lane(), lane(), lane(), ...starts]);
    assert.ok(most <= 2, `${most} ran at once`);
    assert.deepEqual(await takeReady(), []);
  });

  test("follows the limits of the current deployment", async () => {
    const runs = [];
    for (let index = 0; index < 6; index += 1) runs.push((await scene.start("two")).id as string);
    const leases = await takeReady();
    assert.equal(leases.length, 2);
    await scene.deploy({ tasks: TASKS, queues: [{ name: "two", concurrency_limit: 4 }, ...QUEUES.slice(1)] });
    leases.push(...(await takeReady()));
    assert.deepEqual(idsOf(leases), runs.slice(0, 4));
    await scene.deploy({ tasks: TASKS, queues: QUEUES.slice(1) });
    leases.push(...(await takeReady()));
    assert.deepEqual(idsOf(leases), runs);
    await scene.deploy({ tasks: TASKS, queues: QUEUES });
    const late = await scene.start("two");
    assert.deepEqual(await takeReady(), []);
    for (const lease of leases) await scene.worker.finish(lease);
    assert.deepEqual(idsOf(await takeReady()), [late.id]);
  });
});

describe("a concurrency key", () => {
  test("lets one run at a time, in any queue, and others pass", async () => {
    const first = await scene.start("plain", { concurrency_key: "k" });
    const second = await scene.start("plain", { concurrency_key: "k" });
    const other = await scene.start("plain", { concurrency_key: "other" });
    const free = await scene.start("plain");
    const elsewhere = await scene.start("plain", { concurrency_key: "k", queue: "elsewhere" });
    const leases = await takeReady();
    assert.deepEqual(new Set(idsOf(leases)), new Set([first.id, other.id, free.id, elsewhere.id]));
    await scene.worker.finish(leases.find(({ runId }) => runId === other.id) as HeldLease);
    assert.deepEqual(await takeReady(), []);
    await scene.worker.finish(leases.find(({ runId }) => runId === first.id) as HeldLease);
    assert.deepEqual(idsOf(await takeReady()), [second.id]);
  });

  test("has the declared number of slots", async () => {
    for (let index = 0; index < 5; index += 1) await scene.start("keyed", { concurrency_key: "k" });
    await scene.start("keyed", { concurrency_key: "l" });
    assert.equal((await takeReady()).length, 3);
  });

  test("shares the queue's limit: a key that is used up does not hold the others back", async () => {
    const runs = [];
    for (const key of ["a", "a", "a", "a", "b"])
      runs.push((await scene.start("both", { concurrency_key: key })).id);
    const last = await scene.start("both");
    const leases = await takeReady();
    assert.deepEqual(idsOf(leases), [runs[0], runs[1], runs[4]]);
    assert.equal((await scene.get(runs[2])).status_reason.kind, "concurrency_key");
    assert.equal((await scene.get(last.id)).status_reason.kind, "queue_limit");
    await scene.worker.finish(leases[0] as HeldLease);
    assert.deepEqual(idsOf(await takeReady()), [runs[2]]);
  });
});

describe("environments of one worker group", () => {
  let production: RunScene;
  before(async () => {
    production = await productionOf(scene);
    await production.deploy({ tasks: TASKS });
  });
  afterEach(() => production.cancelAll());

  test("share a claim equally, each by its own priority", async () => {
    const long: string[] = [];
    for (let index = 0; index < 10; index += 1) long.push((await scene.start("plain", { priority: 100 })).id);
    const short: string[] = [];
    for (let index = 0; index < 3; index += 1)
      short.push((await production.start("plain", { priority: index })).id);
    const leases = await takeReady(6);
    const taken = idsOf(leases);
    assert.deepEqual(
      taken.filter((id) => short.includes(id)),
      short.toReversed(),
    );
    assert.deepEqual(
      taken.filter((id) => long.includes(id)),
      long.slice(0, 3),
    );
    for (const lease of [...leases, ...(await takeReady())]) await scene.worker.finish(lease);
  });

  test("take turns when a worker has one free slot at a time, whichever has the backlog", async () => {
    for (const [backlogged, other] of [
      [scene, production],
      [production, scene],
    ] as const) {
      await Promise.all(Array.from({ length: 60 }, () => backlogged.start("plain")));
      const waiting = await other.start("plain");
      let claims = 0;
      for (let found = false; !found; claims += 1) {
        const lease = await scene.worker.takeOne();
        found = lease.runId === waiting.id;
        await scene.worker.finish(lease);
      }
      assert.ok(claims <= 40, `it waited for ${claims} claims`);
      await backlogged.cancelAll();
    }
  });
});
