import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { heldLease } from "../../support/raw-worker.ts";
import { recordQueries } from "../../support/record-queries.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { CLAIM } from "../../support/seen-claims.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const SCHEMA = {
  type: "object",
  required: ["items"],
  properties: {
    items: { type: "array", items: { type: "object", properties: { size: { type: "integer" } } } },
  },
  additionalProperties: false,
};

const MANIFEST = {
  tasks: [
    { id: "plain" },
    { id: "checked", payload_schema: SCHEMA },
    {
      id: "declared",
      queue: "declared/queue",
      ttl: "7m",
      max_duration: "90s",
      retry: { max_attempts: 5, initial_delay: "2s", jitter: false },
    },
  ],
};

describe("starting a task", () => {
  let scene: RunScene;
  const startPath = (task: string): string => `/v1/tasks/${task}/start`;
  const refusal = async (task: string, body: object): Promise<[number, string, string | undefined]> => {
    const answer = await scene.call("POST", startPath(task), { body });
    assert.ok(answer.status >= 400, JSON.stringify(answer.body));
    return [answer.status, answer.body.error.code, answer.body.error.details?.issues?.[0].path];
  };
  before(async () => {
    scene = await startRunScene(MANIFEST);
  });
  after(() => scene.stop());

  test("answers the whole run as it was created, and its item is the same", async () => {
    const body = {
      payload: { text: "é\u0001", big: 1e21, nothing: null },
      metadata: { step: 1 },
      tags: ["a", 'b "quoted" \\ {braced}'],
      priority: -7,
    };
    const headers = {
      "service-client-version": "c/1",
      "service-cli-version": "cli/2",
      "service-sdk-version": "sdk/3",
    };
    const { status, body: run } = await scene.call("POST", startPath("plain"), { body, headers });
    assert.equal(status, 201);
    assert.deepEqual(
      [run.payload, run.metadata, run.tags, run.priority],
      [body.payload, body.metadata, body.tags, body.priority],
    );
    assert.deepEqual(
      [run.task, run.actor, run.status, run.attempt_number, run.max_attempts, run.queue, run.concurrency_key],
      ["plain", null, "queued", null, 3, "default", null],
    );
    assert.deepEqual([run.client_version, run.cli_version, run.sdk_version], ["c/1", "cli/2", "sdk/3"]);
    const nulls = ["output", "failure", "pending_wait", "session_id", "turn", "workspace_id", "schedule_id"];
    for (const name of [...nulls, "parent_run_id", "start_at", "started_at", "finished_at", "expires_at"]) {
      assert.equal(run[name], null, name);
    }
    const item = await scene.get(run.id);
    assert.deepEqual({ ...item, status_reason: null, updated_at: null }, { ...run, updated_at: null });
    assert.deepEqual(await scene.eventKinds(run.id), ["run.created", "run.queued"]);
    await scene.cancel(run.id);
  });

  test("takes an empty body", async () => {
    const { status, body: run } = await scene.call("POST", startPath("plain"));
    assert.deepEqual([status, run.payload, run.metadata, run.tags], [201, null, {}, []]);
    await scene.cancel(run.id);
  });

  test("takes what is declared where the start says nothing, and the start's own word otherwise", async () => {
    const declared = await scene.start("declared");
    assert.deepEqual(
      [declared.queue, declared.max_duration, declared.max_attempts],
      ["declared/queue", "90s", 5],
    );
    assert.deepEqual(declared.retry, {
      max_attempts: 5,
      initial_delay: "2s",
      max_delay: "1m",
      factor: 2,
      jitter: false,
    });
    assert.equal(Date.parse(declared.expires_at) - Date.parse(declared.created_at), 7 * 60_000);
    const own = await scene.start("declared", {
      queue: "own",
      ttl: "1h",
      max_duration: "5m",
      retry: { max_attempts: 2 },
    });
    assert.deepEqual([own.queue, own.max_duration], ["own", "5m"]);
    assert.deepEqual([own.retry.max_attempts, own.retry.initial_delay], [2, "2s"]);
    assert.equal(Date.parse(own.expires_at) - Date.parse(own.created_at), 3_600_000);
    await scene.cancel(declared.id);
    await scene.cancel(own.id);
  });

  test("checks the payload against the declared schema and names the place", async () => {
    assert.deepEqual(await refusal("checked", { payload: { items: [{ size: 1 }, { size: "2" }] } }), [
      400,
      "invalid_payload",
      "payload.items.1.size",
    ]);
    assert.deepEqual(await refusal("checked", {}), [400, "invalid_payload", "payload"]);
    assert.deepEqual(await refusal("checked", { payload: {} }), [400, "invalid_payload", "payload.items"]);
    const run = await scene.start("checked", { payload: { items: [{ size: 3 }] } });
    await scene.cancel(run.id);
  });

  test("refuses an unknown task, an unknown version and a malformed task id", async () => {
    assert.deepEqual((await refusal("absent", {})).slice(0, 2), [404, "not_found"]);
    assert.deepEqual((await refusal("plain", { deployment_version: "20200101.1" })).slice(0, 2), [
      404,
      "not_found",
    ]);
    assert.deepEqual((await refusal("-no-id", {})).slice(0, 2), [404, "not_found"]);
  });

  const invalid: [string, object, string][] = [
    ["a field that is not known", { payloads: 1 }, "payloads"],
    ["a delay together with start_at", { delay: "1s", start_at: "2026-11-20T09:15:00Z" }, "start_at"],
    ["a delay that is no duration", { delay: "soon" }, "delay"],
    ["a delay beyond ten years", { delay: "3651d" }, "delay"],
    ["a start_at that is no time", { start_at: "tomorrow" }, "start_at"],
    ["a start_at in a leap second", { start_at: "2016-12-31T23:59:60Z" }, "start_at"],
    ["a time to live of nothing", { ttl: "0s" }, "ttl"],
    ["a max_duration of nothing", { max_duration: "0ms" }, "max_duration"],
    ["a priority of 101", { priority: 101 }, "priority"],
    ["a priority that is no integer", { priority: 0.5 }, "priority"],
    ["a queue name with a space", { queue: "a b" }, "queue"],
    ["an empty concurrency key", { concurrency_key: "" }, "concurrency_key"],
    ["a control character in a tag", { tags: ["a\u0007"] }, "tags.0"],
    ["a tag twice", { tags: ["a", "a"] }, "tags"],
    ["21 tags", { tags: Array.from({ length: 21 }, (_, index) => `t${index}`) }, "tags"],
    ["a tag of 129 characters", { tags: ["x".repeat(129)] }, "tags.0"],
    ["metadata that is no object", { metadata: [] }, "metadata"],
    ["no attempts", { retry: { max_attempts: 0 } }, "retry.max_attempts"],
    [
      "an initial delay beyond every clock",
      { retry: { initial_delay: "999999999999d" } },
      "retry.initial_delay",
    ],
    ["a maximum delay beyond ten years", { retry: { max_delay: "3651d" } }, "retry.max_delay"],
    [
      "an idempotency key kept for over 30 days",
      { idempotency_key: "k", idempotency_key_ttl: "31d" },
      "idempotency_key_ttl",
    ],
    ["an idempotency key of 256 bytes", { idempotency_key: "é".repeat(128) }, "idempotency_key"],
  ];
  for (const [what, body, path] of invalid) {
    test(`refuses ${what}`, async () => {
      assert.deepEqual(await refusal("plain", body), [400, "invalid_request", path]);
    });
  }

  test("takes a payload of 512 KiB and metadata of 16 KiB, and refuses one byte more", async () => {
    const payload = "x".repeat(512 * 1024 - 2);
    const metadata = { k: "x".repeat(16 * 1024 - 8) };
    const run = await scene.start("plain", { payload, metadata });
    assert.equal((await scene.get(run.id)).payload, payload);
    await scene.cancel(run.id);
    assert.deepEqual((await refusal("plain", { payload: `${payload}x` })).slice(0, 2), [
      413,
      "payload_too_large",
    ]);
    const tooLarge = { metadata: { k: `${metadata.k}x` } };
    assert.deepEqual((await refusal("plain", tooLarge)).slice(0, 2), [413, "payload_too_large"]);
  });

  test("delays a run until its time, whether given as delay or as start_at", async () => {
    const later = new Date(scene.clock.now() + 60_000).toISOString();
    const runs = [
      await scene.start("plain", { delay: "1m" }),
      await scene.start("plain", { start_at: later }),
    ];
    assert.equal(runs[1].start_at, later);
    assert.equal((await scene.worker.lease({ limit: 10 })).executions.length, 0);
    for (const { id } of runs) assert.equal((await scene.get(id)).status_reason.kind, "delayed");
    scene.clock.advance(61_000);
    const leases = await scene.worker.take(1);
    if (leases.length < 2) leases.push(...(await scene.worker.take(1)));
    assert.deepEqual(new Set(leases.map(({ runId }) => runId)), new Set(runs.map(({ id }) => id)));
    for (const lease of leases) {
      await scene.worker.finish(lease);
      assert.deepEqual((await scene.eventKinds(lease.runId)).slice(0, 4), [
        "run.created",
        "run.queued",
        "run.queued",
        "run.leased",
      ]);
    }
  });

  test("starts at once what was to start in the past", async () => {
    const run = await scene.start("plain", { start_at: "2020-01-01T00:00:00.000Z" });
    assert.equal(run.start_at, "2020-01-01T00:00:00.000Z");
    const lease = await scene.worker.takeOne();
    assert.equal(lease.runId, run.id);
    await scene.worker.finish(lease);
  });

  test("expires a run that no worker took within its time to live", async () => {
    const run = await scene.start("plain", { ttl: "30s" });
    const delayed = await scene.start("plain", { delay: "1h", ttl: "30s" });
    assert.equal(Date.parse(delayed.expires_at) - Date.parse(delayed.start_at), 30_000);
    scene.clock.advance(31_000);
    // Not given out in the moment between the end of its time and the sweep.
    assert.equal((await scene.worker.lease()).executions.length, 0);
    await scene.happens(run.id, "run.expired");
    const { status, attempt_number, finished_at, failure } = await scene.get(run.id);
    assert.deepEqual([status, attempt_number, failure], ["expired", null, null]);
    assert.notEqual(finished_at, null);
    assert.equal((await scene.get(delayed.id)).status, "queued");
    await scene.cancel(delayed.id);
  });

  test("does not expire a run that a worker has taken", async () => {
    const run = await scene.start("plain", { ttl: "5s" });
    const lease = await scene.worker.takeOne();
    scene.clock.advance(6_000);
    await scene.worker.renew(lease);
    await scene.worker.finish(lease, "rejected");
    const again = await scene.worker.takeOne();
    assert.equal(again.runId, run.id);
    await scene.worker.finish(again);
    assert.equal((await scene.get(run.id)).status, "succeeded");
  });

  test("pins a version: it runs there after another one is current, and others run in the current one", async () => {
    const first = await scene.get((await scene.start("plain")).id);
    const second = await scene.deploy({ tasks: [...MANIFEST.tasks, { id: "new" }] });
    const pinned = await scene.start("plain", { deployment_version: first.deployment_version });
    assert.equal(pinned.deployment_id, first.deployment_id);
    const unpinned = await scene.start("plain");
    assert.deepEqual([unpinned.deployment_id, unpinned.deployment_version], [second.id, second.version]);
    const missing = await refusal("new", { deployment_version: first.deployment_version });
    assert.deepEqual(missing.slice(0, 2), [404, "not_found"]);
    for (const { id } of [first, pinned, unpinned]) await scene.cancel(id);
  });

  test("hands a run to a waiting worker with its first transaction", async () => {
    const bornLeased = async (attempt: number): Promise<boolean> => {
      const requestId = `birth-${attempt}`;
      const waiting = scene.worker.lease({ limit: 2, wait: "20s", requestId });
      await scene.worker.seesRequest(requestId);
      const body = {
        payload: { born: true },
        metadata: { m: 1 },
        tags: ["t"],
        max_duration: "1m",
        ttl: "1m",
      };
      let run: Json;
      let executions: Json[] = [];
      const statements = await recordQueries(async () => {
        run = await scene.start("plain", body);
        ({ executions } = await waiting);
      });
      assert.equal(executions.length, 1);
      const [execution] = executions;
      assert.deepEqual(
        [execution.run.id, execution.run.attempt_number, execution.run.max_attempts, execution.epoch],
        [run.id, 1, 3, 1],
      );
      assert.deepEqual(
        [
          execution.run.payload,
          execution.run.metadata,
          execution.run.tags,
          execution.entrypoint.max_duration,
        ],
        [{ born: true }, { m: 1 }, ["t"], "1m"],
      );
      assert.deepEqual(await scene.eventKinds(run.id), ["run.created", "run.queued", "run.leased"]);
      assert.equal((await scene.get(run.id)).status, "running");
      // A repeat of the poll gets the lease again: it was written with the run.
      assert.deepEqual((await scene.worker.lease({ limit: 2, requestId })).executions, executions);
      await scene.worker.finish(heldLease(execution));
      return !statements.some(({ text }) => CLAIM.test(text));
    };
    // The poll may not be open yet when the start comes, which is then claimed, no less right. Soon it is in time.
    for (let attempt = 1; !(await bornLeased(attempt)); attempt += 1)
      assert.ok(attempt < 10, "no run was born leased");
  });
});
