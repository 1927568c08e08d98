// Calls that the server has refused, as journals keep them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "parent" }] });
});
after(() => scene.stop());

test("a journal keeps that a call was refused, of any kind, and takes no other outcome of such calls", async () => {
  await scene.start("parent");
  const lease = await scene.worker.takeOne();
  const error = { name: "RefusedError", message: "no", stack: null, code: "invalid_request" };
  const refused = (position: number, kind: string, name: string): object => ({
    position,
    kind,
    name,
    error,
  });
  const entries = [
    refused(1, "child_run", "child"),
    refused(2, "wait", "tok_nope"),
    { position: 3, kind: "step", name: "undo", value: 1 },
  ];
  const waits = { waits: [{ position: 5, name: "timer", kind: "timer", timeout: "1h" }], parked: false };
  const report = (entry: object) => lease.operation("steps", { entries: [entry] });
  assert.deepEqual(
    await scene.worker.report(lease.operation("steps", { entries }), lease.operation("waits", waits)),
    [200, 200],
  );
  const wrong = [
    { ...refused(4, "child_run", "child"), error: { ...error, code: null } },
    { position: 4, kind: "token", name: "token", value: { id: "tok_1" } },
  ];
  const { sequence } = report(wrong[0] as object);
  for (const entry of wrong)
    assert.deepEqual(await scene.worker.report({ ...report(entry), sequence }), ["invalid_request"]);
  assert.deepEqual(await scene.worker.report({ ...report(refused(5, "wait", "timer")), sequence }), [
    "invalid_state",
  ]);
  const calls = await scene.call("GET", `/v1/runs/${lease.runId}/calls`);
  assert.deepEqual(
    calls.body.calls.map(({ position, kind, error: kept, wait }: Json) => [position, kind, kept?.code, wait]),
    [
      [1, "child_run", "invalid_request", null],
      [2, "wait", "invalid_request", null],
      [3, "step", undefined, null],
    ],
  );
});
