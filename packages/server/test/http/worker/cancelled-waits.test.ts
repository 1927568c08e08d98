// Waits that the code of a run gives up.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, send, startSession } from "../../support/session-scene.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const input = (position: number): Json => ({ position, name: "input", kind: "input", stream: "input" });
const waits = (lease: HeldLease, fields: object): Json =>
  lease.operation("waits", { waits: [], parked: false, ...fields });
const stateOf = ({ result }: Json): Json[] =>
  result.waits.map(({ position, status, value }: Json) => [position, status, value?.data ?? null]);

async function begun(): Promise<{ session: Json; lease: HeldLease }> {
  const session = await startSession(scene);
  const lease = await scene.worker.takeOne();
  await scene.worker.report(lease.operation("start"));
  return { session, lease };
}

test("a pending wait settles as cancelled, and its record goes to the next one", async () => {
  const { session, lease } = await begun();
  await scene.worker.report(waits(lease, { waits: [input(1)], parked: true }));
  for (let time = 1; time <= 2; time += 1) {
    const [cancelled] = await scene.worker.results(waits(lease, { cancels: [1] }));
    assert.deepEqual(stateOf(cancelled), [[1, "cancelled", null]]);
  }
  const sent = await send(scene, session, "one");
  assert.equal(sent.body.disposition, "queued");
  const [next] = await scene.worker.results(waits(lease, { waits: [input(2)] }));
  assert.deepEqual(stateOf(next), [
    [1, "cancelled", null],
    [2, "resolved", "one"],
  ]);
  const events = (await scene.call("GET", `/v1/runs/${lease.execution.run.id}/events`)).body.events;
  assert.deepEqual(
    events.filter(({ kind }: Json) => kind === "wait.cancelled").map(({ attributes }: Json) => attributes),
    [{ kind: "input", name: "input", position: 1 }],
  );
});

test("a wait that has its record keeps it", async () => {
  const { session, lease } = await begun();
  await scene.worker.report(waits(lease, { waits: [input(1)], parked: true }));
  await send(scene, session, "one");
  const [kept] = await scene.worker.results(waits(lease, { cancels: [1] }));
  assert.deepEqual(stateOf(kept), [[1, "resolved", "one"]]);
});

test("one that is made and given up in the same report takes nothing", async () => {
  const { session, lease } = await begun();
  const [, cancelled] = await scene.worker.results(
    waits(lease, { waits: [input(1)] }),
    waits(lease, { cancels: [1, 7] }),
  );
  assert.deepEqual(stateOf(cancelled), [[1, "cancelled", null]]);
  await send(scene, session, "one");
  const [next] = await scene.worker.results(waits(lease, { waits: [input(2)] }));
  assert.deepEqual(stateOf(next)[1], [2, "resolved", "one"]);
});
