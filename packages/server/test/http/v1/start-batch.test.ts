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

// What a route answered is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

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

  for (const isKeyed of [false, true])
    test(`stores each start as it was asked for, ${isKeyed ? "some with keys" : "without keys"}`, async () => {
      // Values that come round at different paces, so that runs are alike in all kinds of ways.
      const each = (n: number): object[] => [
        { task: n % 2 === 0 ? "plain" : "declared", payload: { n, text: 'é "\\\u0001{}, \u{1f600}' } },
        n % 3 === 0 ? { priority: n % 5 } : {},
        n % 5 === 0 ? { tags: [`t${n}`, 'a "b", {c}'] } : {},
        n % 7 === 0 ? { metadata: { n, words: "it's, {NULL}" } } : {},
        n % 11 === 0 ? { delay: "1h", ttl: "2h" } : {},
        n % 13 === 0 ? { queue: "slow", concurrency_key: `k${n % 4}` } : {},
        n % 17 === 0 ? { max_duration: `${n + 62}s`, retry: { max_attempts: 2 } } : {},
        isKeyed && n % 4 === 0 ? { idempotency_key: `mixed ${n}` } : {},
      ];
      const starts: Json[] = Array.from({ length: 120 }, (_, n) => Object.assign({}, ...each(n)));
      const { body } = await scene.call("POST", "/v1/tasks/start-batch", { body: { starts } });
      for (const [n, { run: answered }] of (body.results as Json[]).entries()) {
        const asked = starts[n];
        assert.deepEqual(
          [answered.task, answered.payload, answered.priority, answered.tags, answered.metadata],
          [asked.task, asked.payload, asked.priority ?? 0, asked.tags ?? [], asked.metadata ?? {}],
        );
        assert.equal(answered.concurrency_key, asked.concurrency_key ?? null);
        assert.equal(answered.max_duration, asked.max_duration ?? null);
        assert.equal(answered.start_at !== null, asked.delay !== undefined);
        assert.equal(answered.expires_at !== null, asked.ttl !== undefined);
        const { body: stored } = await scene.call("GET", `/v1/runs/${answered.id}`);
        // What has since become of it is not what was asked.
        const { updated_at: updatedAt } = answered;
        assert.deepEqual({ ...stored, status_reason: null, updated_at: updatedAt }, answered);
      }
    });

  const batchOf = (text: string) =>
    scene.call("POST", "/v1/tasks/start-batch", {
      bytes: Buffer.from(text),
      headers: { "content-type": "application/json" },
    });
  const ownOf = ({ status, run, error }: Json): Json[] => [
    status,
    run?.payload ?? error?.details.issues.map(({ path }: { path: string }) => path),
  ];

  test("refuses a start that is not I-JSON alone, with the path below it", async () => {
    const odd: [string, string][] = [
      ['{"task":"plain","payload":{"a":[1,9007199254740993]}}', "payload.a.1"],
      ['{"task":"plain","payload":1e400}', "payload"],
      ['{"task":"plain","payload":{"a":1,"a":2}}', "payload.a"],
      ['{"task":"plain","task":"plain"}', "task"],
      [String.raw`{"task":"plain","payload":"\ud800"}`, "payload"],
      [String.raw`{"task":"plain","metadata":{"a":"\u0000"}}`, "metadata.a"],
      [String.raw`{"task":"plain","payload":["\ud800",1e400,{"b":1,"b":1}]}`, "payload.0"],
    ];
    const { status, body } = await batchOf(
      `{"starts": [${odd.map(([text], n) => `{"task":"plain","payload":${n}}, ${text}`).join()}]}`,
    );
    assert.equal(status, 200);
    assert.deepEqual(
      body.results.map(ownOf),
      odd.flatMap(([, path], n) => [
        [201, n],
        [400, [path]],
      ]),
    );
    assert.equal(body.results[1].error.code, "invalid_request");
  });

  test("refuses as a whole what is not I-JSON outside of the starts", async () => {
    for (const [text, path] of [
      ['{"starts":[{"task":"plain"}],"starts":[{"task":"plain"}]}', "starts"],
      [String.raw`{"starts":[{"task":"plain"}],"more":"\u0000"}`, "more"],
      ['{"starts":{"0":{"task":"plain","task":"plain"}}}', "starts.0.task"],
      ['{"starts":[{"task":"plain"},1e400]}', "starts.1"],
      ['{"starts":[{"task":"plain","priority":1e400}]}', "starts.0.priority"],
      ['[{"task":"plain","task":"plain"}]', "0.task"],
    ] as const) {
      const { status, body } = await batchOf(text);
      assert.deepEqual([status, body.error?.details.issues[0].path], [400, path], text);
    }
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
