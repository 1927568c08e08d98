// What a run's code did durably, as people read it.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
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
  await scene.start("parent", {});
  const lease = await scene.worker.takeOne();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return lease;
}

const step = (position: number, outcome: object): object => ({
  position,
  kind: "step",
  name: `step ${position}`,
  ...outcome,
});

async function did(lease: HeldLease, ...entries: object[]): Promise<void> {
  assert.deepEqual(await scene.worker.report(lease.operation("steps", { entries })), [200]);
}

async function callsOf(runId: string, query = ""): Promise<Json[]> {
  const { status, body } = await scene.call("GET", `/v1/runs/${runId}/calls${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.calls;
}

describe("the calls of a run", () => {
  test("are in the order in which the code saw them, with what it got", async () => {
    const lease = await begun();
    const error = { name: "TypeError", message: "no", stack: "TypeError: no\n  at a.ts:1:1", code: null };
    await did(lease, step(2, { value: { b: 2 } }), step(1, { value: null }), step(3, { error }));
    const calls = await callsOf(lease.runId);
    assert.deepEqual(
      calls.map(({ run_id, position, kind, name, attempt_number, value, error: kept, wait }: Json) => [
        ...[run_id, position, kind, name, attempt_number, value, kept, wait],
      ]),
      [
        [lease.runId, 2, "step", "step 2", 1, { b: 2 }, null, null],
        [lease.runId, 1, "step", "step 1", 1, null, null, null],
        [lease.runId, 3, "step", "step 3", 1, null, error, null],
      ],
    );
  });

  test("have what a wait got: nothing for a timer, the output of a child", async () => {
    const lease = await begun();
    const child = lease.operation("child-runs", { position: 1, task: "child", payload: {} });
    const [{ result }] = await scene.worker.results(child);
    const childId = result.value.id;
    const held = await scene.worker.takeOne();
    await scene.worker.report(
      held.operation("start"),
      held.operation("release", { outcome: "succeeded", output: [7] }),
    );
    const waits = [
      { position: 2, name: "the child", kind: "run", run_id: childId },
      { position: 3, name: "a moment", kind: "timer", timeout: "0ms" },
    ];
    await scene.worker.results(lease.operation("waits", { waits, parked: false }));
    assert.deepEqual(await callsOf(lease.runId, "?position=2"), [], "the code has not seen it yet");
    await did(
      lease,
      { position: 2, kind: "wait", name: "the child" },
      { position: 3, kind: "wait", name: "a moment" },
    );
    const calls = await callsOf(lease.runId);
    assert.deepEqual(
      calls.map(({ kind, name, value, wait }: Json) => [kind, name, value, wait]),
      [
        ["child_run", "child", { id: childId }, null],
        [
          "wait",
          "the child",
          { status: "succeeded", output: [7], failure: null },
          { kind: "run", status: "resolved", timeout_at: null },
        ],
        [
          "wait",
          "a moment",
          null,
          { kind: "timer", status: "resolved", timeout_at: calls[2].wait.timeout_at },
        ],
      ],
    );
  });

  test("of a token have its id and none of its secrets", async () => {
    const lease = await begun();
    const [{ result }] = await scene.worker.results(lease.operation("tokens", { position: 1 }));
    const { id, public_access_token: secret } = result.value;
    assert.match(secret, /^kl_tkn_/);
    const [call] = await callsOf(lease.runId);
    assert.equal(call.value.id, id);
    assert.doesNotMatch(JSON.stringify(call), /kl_tkn_|callback/);
  });

  test("are listed by pages and by position, of a run that has ended, too", async () => {
    const lease = await begun();
    await did(lease, ...Array.from({ length: 7 }, (_, index) => step(index + 1, { value: index })));
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    const seen: number[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body }: Json = await scene.call("GET", `/v1/runs/${lease.runId}/calls?limit=3${cursor}`);
      seen.push(...body.calls.map(({ value }: Json) => value));
      cursor = body.next_cursor === null ? null : `&cursor=${encodeURIComponent(body.next_cursor)}`;
    }
    assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6]);
    assert.deepEqual(
      (await callsOf(lease.runId, "?position=5")).map(({ value }: Json) => value),
      [4],
    );
    assert.deepEqual(await callsOf(lease.runId, "?position=8"), []);
  });

  test("of a run that is not there are none, and an odd position is refused", async () => {
    const lease = await begun();
    const refused = async (path: string): Promise<number> => (await scene.call("GET", path)).status;
    assert.equal(await refused(`/v1/runs/${lease.runId.slice(0, -4)}0000/calls`), 404);
    assert.equal(await refused(`/v1/runs/${lease.runId}/calls?position=0`), 400);
    assert.equal(await refused(`/v1/runs/${lease.runId}/calls?position=1e2`), 400);
    assert.equal(await refused(`/v1/runs/${lease.runId}/calls?cursor=abc`), 400);
  });
});
