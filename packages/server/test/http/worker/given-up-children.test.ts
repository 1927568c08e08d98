// Child runs whose parents give up the calls that started them.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "parent" }, { id: "child" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

async function begun(): Promise<HeldLease> {
  const run = await scene.start("parent");
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, run.id);
  await scene.worker.report(lease.operation("start"));
  return lease;
}

const call = (lease: HeldLease, position: number, task = "child"): Json =>
  lease.operation("child-runs", { position, task });
const waitFor = (lease: HeldLease, position: number, runId: string): Json =>
  lease.operation("waits", {
    waits: [{ position, name: runId, kind: "run", run_id: runId }],
    parked: false,
  });
const giveUp = (lease: HeldLease, ...cancels: number[]): Json =>
  lease.operation("waits", { waits: [], parked: false, cancels });
const idOf = ({ result }: Json): string => result.value.id;
const statusOf = async (runId: string): Promise<string> => (await scene.get(runId)).status;

test("a child is cancelled with all that it has started, and its wait settles", async () => {
  const parent = await begun();
  const [started] = await scene.worker.results(call(parent, 1));
  const child = await scene.worker.takeOne();
  const [, grandchild] = await scene.worker.results(child.operation("start"), call(child, 1));
  await scene.worker.report(waitFor(parent, 2, child.runId));
  const [given] = await scene.worker.results(giveUp(parent, 1, 2));
  assert.deepEqual(
    given.result.waits.map(({ position, status, value }: Json) => [position, status, value]),
    [[2, "cancelled", null]],
  );
  assert.equal(child.runId, idOf(started));
  assert.equal(await statusOf(child.runId), "cancel_requested");
  assert.equal(await statusOf(idOf(grandchild)), "cancelled");
  const { cancellations } = await scene.worker.renew(child);
  assert.deepEqual(
    cancellations.map(({ run_id: id }: Json) => id),
    [child.runId],
  );
  assert.equal(await statusOf(parent.runId), "running");
});

test("the same, given up once more, changes nothing", async () => {
  const parent = await begun();
  const [started] = await scene.worker.results(call(parent, 1));
  const child = await scene.worker.takeOne();
  const operation = giveUp(parent, 1);
  for (const again of [operation, operation, giveUp(parent, 1)])
    assert.deepEqual(await scene.worker.report(again), [200]);
  assert.equal(child.runId, idOf(started));
  const kinds = (await scene.eventKinds(child.runId)).filter((kind) => kind === "run.cancel_requested");
  assert.equal(kinds.length, 1);
});

test("a child that was started in the same report is cancelled, and others go on", async () => {
  const parent = await begun();
  const [one, other] = await scene.worker.results(...[call(parent, 1), call(parent, 2)], giveUp(parent, 1));
  assert.equal(await statusOf(idOf(one)), "cancelled");
  assert.equal(await statusOf(idOf(other)), "queued");
});

test("a child that has ended, before or with the same report, stays as it is", async () => {
  const parent = await begun();
  const started = await scene.worker.results(call(parent, 1), call(parent, 2));
  const ids = started.map(idOf);
  const children = await scene.worker.take(2);
  const [first, second] = ids.map((id) => children.find(({ runId }) => runId === id)) as [
    HeldLease,
    HeldLease,
  ];
  await scene.worker.finish(first, "succeeded", { output: 1 });
  const statuses = await scene.worker.report(
    second.operation("start"),
    second.operation("release", { outcome: "succeeded", output: 2 }),
    giveUp(parent, 1, 2),
  );
  assert.deepEqual(statuses, [200, 200, 200]);
  for (const id of ids) assert.equal(await statusOf(id), "succeeded");
});

test("a child that ends at the same moment ends once", async () => {
  const parent = await begun();
  for (let round = 1; round <= 10; round += 1) {
    await scene.worker.report(call(parent, round));
    const child = await scene.worker.takeOne();
    await scene.worker.report(child.operation("start"), call(child, 1));
    const grandchild = await scene.worker.takeOne();
    const [ended, grandchildEnded, given] = await Promise.all([
      scene.worker.report(child.operation("release", { outcome: "succeeded" })),
      scene.worker.report(
        grandchild.operation("start"),
        grandchild.operation("release", { outcome: "succeeded" }),
      ),
      scene.worker.report(giveUp(parent, round)),
    ]);
    assert.deepEqual([ended, grandchildEnded, given], [[200], [200, 200], [200]]);
    for (const { runId } of [child, grandchild])
      assert.match(await statusOf(runId), /^(succeeded|cancelled)$/);
  }
});

test("the end of a parent comes after what it gave up in its last report", async () => {
  const parent = await begun();
  const [started] = await scene.worker.results(call(parent, 1));
  const last = [giveUp(parent, 1), parent.operation("release", { outcome: "succeeded" })];
  assert.deepEqual(await scene.worker.report(...last), [200, 200]);
  assert.equal(await statusOf(idOf(started)), "cancelled");
  assert.equal(await statusOf(parent.runId), "succeeded");
});

test("nothing is ended but what the run itself has started", async () => {
  const [one, other] = [await begun(), await begun()];
  const [child] = await scene.worker.results(call(one, 1));
  const foreign = idOf(child);
  const statuses = await scene.worker.report(
    call(other, 3, "unknown"),
    waitFor(other, 1, foreign),
    other.operation("steps", {
      entries: [{ position: 2, kind: "step", name: "it", value: { id: foreign } }],
    }),
    giveUp(other, 1, 2, 3, 4),
  );
  assert.deepEqual(statuses, [200, 200, 200, 200]);
  assert.equal(await statusOf(foreign), "queued");
});
