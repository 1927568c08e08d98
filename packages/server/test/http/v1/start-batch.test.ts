import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

const MANIFEST = {
  tasks: [
    { id: "plain" },
    { id: "declared" },
    { id: "checked", payload_schema: { type: "object", properties: { items: { type: "array" } } } },
  ],
};

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

describe("a batch of starts", () => {
  test("answers each start by itself, in the order of the request", async () => {
    const { status, body } = await scene.call("POST", "/v1/tasks/start-batch", {
      body: {
        starts: [
          { task: "plain", payload: 0, idempotency_key: "batch" },
          { task: "absent" },
          { task: "checked", payload: { items: 1 } },
          { task: "plain", payload: 3, delay: "1s", start_at: "2026-11-20T09:15:00Z" },
          { task: "plain", payload: 0, idempotency_key: "batch" },
          { task: "plain", payload: 5, idempotency_key: "batch" },
          { task: "declared", payload: 6 },
        ],
      },
    });
    assert.equal(status, 200);
    assert.deepEqual(
      body.results.map(
        ({
          status: own,
          run,
          error,
        }: {
          status: number;
          run: { task: string } | null;
          error: { code: string } | null;
        }) => [own, run?.task ?? error?.code],
      ),
      [
        [201, "plain"],
        [404, "not_found"],
        [400, "invalid_payload"],
        [400, "invalid_request"],
        [201, "plain"],
        [409, "idempotency_conflict"],
        [201, "declared"],
      ],
    );
    assert.equal(body.results[0].run.id, body.results[4].run.id);
    assert.equal(body.results[2].error.details.issues[0].path, "payload.items");
    assert.equal(body.results[1].run, null);
    assert.equal(body.results[0].error, null);
    for (const index of [0, 6]) await scene.cancel(body.results[index].run.id);
  });

  test("takes 500 starts and no more, and refuses a malformed one as a whole", async () => {
    const batch = (starts: object[]) => scene.call("POST", "/v1/tasks/start-batch", { body: { starts } });
    const { body } = await batch(
      Array.from({ length: 500 }, (_, index) => ({ task: "plain", payload: index })),
    );
    const runs = body.results.map(({ run }: { run: { id: string; payload: number } }) => run);
    assert.deepEqual(
      runs.map(({ payload }: { payload: number }) => payload),
      Array.from({ length: 500 }, (_, index) => index),
    );
    const leases = await scene.worker.take(500);
    const ends = leases.map((lease) => lease.operation("release", { outcome: "succeeded" }));
    assert.deepEqual(new Set(await scene.worker.report(...ends)), new Set([200]));
    assert.equal((await batch(Array.from({ length: 501 }, () => ({ task: "plain" })))).status, 400);
    assert.equal((await batch([])).status, 400);
    const malformed = await batch([{ task: "plain" }, { task: "plain", priority: "high" }]);
    assert.deepEqual(malformed.body.error.details.issues[0].path, "starts.1.priority");
  });
});
