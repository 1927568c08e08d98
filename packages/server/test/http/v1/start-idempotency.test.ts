import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

const MANIFEST = { tasks: [{ id: "plain" }, { id: "declared" }] };

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const startPath = (task: string): string => `/v1/tasks/${task}/start`;
const refusal = async (task: string, body: object): Promise<[number, string, string | undefined]> => {
  const answer = await scene.call("POST", startPath(task), { body });
  assert.ok(answer.status >= 400, JSON.stringify(answer.body));
  return [answer.status, answer.body.error.code, answer.body.error.details?.issues?.[0].path];
};

describe("a start with an idempotency key", () => {
  test("answers a repeat with the first answer, in body or header, also after the run has ended", async () => {
    const body = { payload: { a: 1, b: [1.0] }, metadata: { of: "start" } };
    const first = await scene.call("POST", startPath("plain"), {
      body: { ...body, idempotency_key: "once" },
    });
    assert.deepEqual([first.status, first.headers.get("idempotency-replayed")], [201, null]);
    const lease = await scene.worker.takeOne();
    const change = lease.operation("metadata", { changes: [{ op: "set", key: "of", value: "run" }] });
    assert.deepEqual(await scene.worker.report(change), [200]);
    await scene.worker.finish(lease, "succeeded", { output: 1 });
    for (const again of [
      { body: { idempotency_key: "once", metadata: { of: "start" }, payload: { b: [1], a: 1.0 } } },
      { body, headers: { "idempotency-key": "once" } },
      { body: { ...body, idempotency_key: "once" }, headers: { "idempotency-key": "once" } },
    ]) {
      const repeat = await scene.call("POST", startPath("plain"), again);
      assert.equal(repeat.status, 201);
      assert.equal(repeat.headers.get("idempotency-replayed"), "true");
      assert.deepEqual(repeat.body, first.body);
    }
  });

  test("refuses another body, and a header that differs from the body", async () => {
    const run = await scene.start("plain", { payload: 1, idempotency_key: "other-body" });
    assert.deepEqual((await refusal("plain", { payload: 2, idempotency_key: "other-body" })).slice(0, 2), [
      409,
      "idempotency_conflict",
    ]);
    const mismatch = await scene.call("POST", startPath("plain"), {
      body: { payload: 1, idempotency_key: "other-body" },
      headers: { "idempotency-key": "different" },
    });
    assert.deepEqual([mismatch.status, mismatch.body.error.code], [400, "invalid_request"]);
    await scene.cancel(run.id);
  });

  test("keeps keys of one task apart from those of another", async () => {
    const one = await scene.start("plain", { idempotency_key: "same" });
    const other = await scene.start("declared", { idempotency_key: "same" });
    assert.notEqual(one.id, other.id);
    await scene.cancel(one.id);
    await scene.cancel(other.id);
  });

  test("makes one run of many concurrent starts, and refuses those among them with another body", async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        scene.call("POST", startPath("plain"), {
          body: { payload: index % 4 === 3 ? "other" : "first", idempotency_key: "race" },
        }),
      ),
    );
    const started = answers.filter(({ status }) => status === 201);
    assert.ok(started.length === 30 || started.length === 10, `${started.length} were accepted`);
    assert.equal(new Set(started.map(({ body }) => body.id)).size, 1);
    assert.equal(started.filter(({ headers }) => headers.get("idempotency-replayed") === null).length, 1);
    const refused = answers.filter(({ status }) => status !== 201);
    assert.deepEqual([...new Set(refused.map(({ body }) => body.error.code))], ["idempotency_conflict"]);
    await scene.cancel(started[0]?.body.id);
  });

  test("forgets the key after its own time", async () => {
    const body = { idempotency_key: "short", idempotency_key_ttl: "1m" };
    const first = await scene.start("plain", body);
    scene.clock.advance(59_000);
    assert.equal((await scene.start("plain", body)).id, first.id);
    scene.clock.advance(2_000);
    const second = await scene.start("plain", body);
    assert.notEqual(second.id, first.id);
    assert.equal((await scene.start("plain", body)).id, second.id);
    await scene.cancel(first.id);
    await scene.cancel(second.id);
  });

  test("answers a repeat as before when the task is no longer deployed or takes another payload", async () => {
    await scene.deploy({ tasks: [...MANIFEST.tasks, { id: "leaving" }, { id: "changing" }] });
    const left = await scene.start("leaving", { idempotency_key: "kept" });
    const changed = await scene.start("changing", { payload: 1, idempotency_key: "kept" });
    await scene.deploy({
      tasks: [...MANIFEST.tasks, { id: "changing", payload_schema: { type: "string" } }],
    });
    assert.deepEqual(await scene.start("leaving", { idempotency_key: "kept" }), left);
    assert.deepEqual(await scene.start("changing", { payload: 1, idempotency_key: "kept" }), changed);
    assert.deepEqual((await refusal("leaving", { idempotency_key: "new" })).slice(0, 2), [404, "not_found"]);
    const other = await refusal("leaving", { payload: 2, idempotency_key: "kept" });
    assert.deepEqual(other.slice(0, 2), [409, "idempotency_conflict"]);
    await scene.cancel(left.id);
    await scene.cancel(changed.id);
  });
});
