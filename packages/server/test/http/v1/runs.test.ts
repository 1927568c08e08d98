import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { RUN_STATUSES } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { outlastLeases } from "../../support/outlast-leases.ts";
import { enrollWorker, type HeldLease } from "../../support/raw-worker.ts";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";

const WIDE = { name: "wide", concurrency_limit: 6 };
const MANIFEST = {
  tasks: [
    { id: "plain" },
    { id: "other" },
    { id: "limited", queue: "narrow" },
    { id: "wide", queue: "wide" },
  ],
  queues: [{ name: "narrow", concurrency_limit: 1 }, WIDE],
};

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const refusal = async (path: string, method = "GET"): Promise<[number, string]> => {
  const { status, body } = await scene.call(method, path);
  return [status, body.error?.code];
};

describe("a run's status_reason", () => {
  const reasonOf = async (id: string): Promise<Json> => (await scene.get(id)).status_reason;

  test("is null while a worker has it and after the end", async () => {
    const lease = await scene.leased();
    assert.equal(await reasonOf(lease.runId), null);
    await scene.cancel(lease.runId);
    assert.equal(await reasonOf(lease.runId), null);
    await scene.worker.finish(lease);
    assert.equal(await reasonOf(lease.runId), null);
  });

  test("is delayed before its time, with the time", async () => {
    const run = await scene.start("plain", { delay: "1h" });
    const reason = await reasonOf(run.id);
    assert.deepEqual([reason.kind, reason.details], ["delayed", { available_at: run.start_at }]);
    assert.notEqual(reason.message, "");
  });

  test("is queue_limit while its queue is full", async () => {
    const first = await scene.start("limited");
    const second = await scene.start("limited");
    assert.equal((await reasonOf(first.id)).kind, "worker_busy");
    const { kind, details } = await reasonOf(second.id);
    assert.deepEqual([kind, details], ["queue_limit", { queue: "narrow", limit: 1, held_by: [first.id] }]);
  });

  test("is concurrency_key while its key is held", async () => {
    await scene.start("plain", { concurrency_key: "other" });
    const first = await scene.start("plain", { concurrency_key: "k" });
    const second = await scene.start("plain", { concurrency_key: "k" });
    const { kind, details } = await reasonOf(second.id);
    assert.deepEqual(
      [kind, details],
      ["concurrency_key", { concurrency_key: "k", limit: 1, held: 1, held_by: [first.id] }],
    );
  });

  test("names five of the runs that hold a wide queue, and no run of another environment", async () => {
    const production = await productionOf(scene);
    await production.deploy({ tasks: [{ id: "wide", queue: "wide" }], queues: [WIDE] });
    await production.start("wide");
    const holders: string[] = [];
    for (let index = 0; index < 6; index += 1) holders.push((await scene.start("wide")).id as string);
    const { details } = await reasonOf((await scene.start("wide")).id);
    assert.deepEqual([details.limit, details.held_by.length], [6, 5]);
    assert.deepEqual(
      details.held_by.filter((id: string) => !holders.includes(id)),
      [],
    );
    await production.cancelAll();
  });

  test("is retry_delay between attempts, with the time", async () => {
    const lease = await scene.leased({ retry: { initial_delay: "30s", jitter: false } });
    const before = scene.clock.now();
    await scene.worker.finish(lease, "failed", {
      failure: { kind: "application_error", message: "x", retryable: true },
    });
    const { kind, details } = await reasonOf(lease.runId);
    assert.equal(kind, "retry_delay");
    const dueMs = Date.parse(details.available_at) - before;
    assert.ok(dueMs >= 30_000 && dueMs < 35_000, `it is due in ${dueMs} ms`);
  });

  test("is no_worker while the workers of its group take no runs", async () => {
    const run = await scene.start("plain");
    await scene.server.db.query(sql`UPDATE workers SET capacity_executions = 0`);
    const reason = await reasonOf(run.id);
    assert.equal(reason.kind, "no_worker");
    assert.match(reason.message, /take no runs/);
    await scene.server.db.query(sql`UPDATE workers SET capacity_executions = 100`);
    assert.equal((await reasonOf(run.id)).kind, "worker_busy");
  });

  test("is worker_busy while a worker lives, no_worker once it was silent for 15 s", async () => {
    const other = await enrollWorker(scene.server);
    await other.lease();
    const run = await scene.start("plain");
    assert.equal((await reasonOf(run.id)).kind, "worker_busy");
    scene.clock.advance(16_000);
    const { kind, message, details } = await reasonOf(run.id);
    assert.deepEqual([kind, details], ["no_worker", { worker_group: "default" }]);
    assert.match(message, /keelson agent/);
    await other.call("POST", "/heartbeat", {});
    assert.equal((await reasonOf(run.id)).kind, "worker_busy");
  });

  test("is lease_recovery after its worker was lost", async () => {
    const lease = await scene.leased();
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    await scene.worker.call("POST", "/heartbeat", {});
    assert.equal((await reasonOf(lease.runId)).kind, "lease_recovery");
    await scene.worker.finish(await scene.worker.takeOne());
  });
});

describe("counts", () => {
  test("equal the truth after every kind of transition", async () => {
    const failure = { kind: "application_error", message: "x", retryable: true };
    await scene.worker.finish(await scene.leased());
    await scene.worker.finish(await scene.leased({ retry: { max_attempts: 1 } }), "failed", { failure });
    await scene.worker.finish(await scene.leased(), "failed", { failure: { ...failure, retry_after: "1h" } });
    const rejected = await scene.leased();
    await scene.worker.finish(rejected, "rejected");
    await scene.worker.finish(await scene.worker.takeOne(), "succeeded");
    const asked = await scene.leased();
    await scene.cancel(asked.runId);
    const expiring = await scene.start("plain", { ttl: "5s" });
    let lost = await scene.leased({ priority: 9, retry: { max_attempts: 1 } });
    // Its one attempt, and the five more that infrastructure may cost it.
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await scene.worker.report(lost.operation("start"));
      await outlastLeases(scene);
      if (attempt < 6) lost = await scene.worker.takeOne();
    }
    await scene.happens(expiring.id, "run.expired");
    await scene.happens(lost.runId, "run.system_failed");
    const waiting = scene.worker.takeOne();
    await scene.start("plain");
    await waiting;
    await scene.start("plain", { delay: "1h" });
    await Promise.all(Array.from({ length: 3 }, () => scene.start("limited")));

    const { body } = await scene.call("GET", "/api/runs/counts");
    const truth = await scene.server.db.query<{ status: string; count: number }>(sql`
      SELECT coalesce(x.status, e.status) AS status, count(*) AS count
      FROM runs r
      LEFT JOIN executions e ON e.environment_id = r.environment_id AND e.run_id = r.id
      LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id
      WHERE r.environment_id = (SELECT id FROM environments WHERE slug = 'development')
      GROUP BY 1`);
    const counted = new Map(truth.map(({ status, count }) => [status, count]));
    assert.deepEqual(
      body.counts,
      Object.fromEntries(RUN_STATUSES.map((status) => [status, counted.get(status) ?? 0])),
    );
    for (const status of [
      "succeeded",
      "failed",
      "cancelled",
      "expired",
      "system_failed",
      "queued",
      "retry_delayed",
    ]) {
      assert.ok(body.counts[status] > 0, `no run is ${status}`);
    }
  });
});

describe("cancelling", () => {
  test("ends a queued, a delayed and a retry_delayed run at once, and is idempotent", async () => {
    const queued = await scene.start("plain");
    const delayed = await scene.start("plain", { delay: "1h" });
    const waiting = await scene.start("limited");
    const blocked = await scene.start("limited");
    for (const run of [queued, delayed, blocked, waiting]) {
      for (let round = 0; round < 2; round += 1) {
        const { status, body } = await scene.cancel(run.id);
        assert.deepEqual([status, body.status, body.attempt_number], [200, "cancelled", null]);
        assert.notEqual(body.finished_at, null);
      }
      assert.deepEqual(await scene.eventKinds(run.id), ["run.created", "run.queued", "run.cancelled"]);
    }
    const lease = await scene.leased({ retry: { initial_delay: "1h" } });
    await scene.worker.finish(lease, "failed", {
      failure: { kind: "application_error", message: "x", retryable: true },
    });
    assert.equal((await scene.cancel(lease.runId)).body.status, "cancelled");
    assert.deepEqual((await scene.eventKinds(lease.runId)).slice(-2), [
      "run.cancel_requested",
      "run.cancelled",
    ]);
    assert.deepEqual((await scene.worker.lease({ limit: 10 })).executions, []);
  });

  test("asks a running run, once", async () => {
    const lease = await scene.leased();
    for (let round = 0; round < 2; round += 1) {
      const { status, body } = await scene.cancel(lease.runId);
      assert.deepEqual([status, body.status], [200, "cancel_requested"]);
    }
    assert.equal(
      (await scene.eventKinds(lease.runId)).filter((kind) => kind === "run.cancel_requested").length,
      1,
    );
    await scene.worker.finish(lease, "cancelled");
    const { status, body } = await scene.cancel(lease.runId);
    assert.deepEqual([status, body.status], [200, "cancelled"]);
  });

  test("is refused for a run that ended otherwise", async () => {
    const succeeded = await scene.leased();
    await scene.worker.finish(succeeded);
    const failed = await scene.leased();
    await scene.worker.finish(failed, "failed", {
      failure: { kind: "application_error", message: "x", retryable: false },
    });
    const expired = await scene.start("plain", { ttl: "1s" });
    scene.clock.advance(2_000);
    await scene.happens(expired.id, "run.expired");
    for (const id of [succeeded.runId, failed.runId, expired.id]) {
      assert.deepEqual(await refusal(`/v1/runs/${id}/cancel`, "POST"), [409, "invalid_state"]);
    }
  });

  test("takes no body fields", async () => {
    const run = await scene.start("plain");
    const answer = await scene.call("POST", `/v1/runs/${run.id}/cancel`, { body: { force: true } });
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
  });
});

describe("events and logs as pages", () => {
  let lease: HeldLease;
  const page = async (path: string): Promise<Json> => {
    const { status, body } = await scene.call("GET", `/v1/runs/${lease.runId}/${path}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  before(async () => {
    lease = await scene.leased();
    const at = "2026-11-20T09:15:00.123Z";
    const event = { kind: "step.completed", message: "Step.", severity: "debug", attributes: { n: 1 }, at };
    const chunk = (text: string, stream: string) => ({
      stream,
      data: Buffer.from(text).toString("base64"),
      at,
    });
    await scene.worker.report(
      lease.operation("start"),
      lease.operation("events", { events: [event, { ...event, attributes: { n: 2 } }] }),
      lease.operation("logs", { chunks: [chunk("a", "stdout"), chunk("b", "stderr"), chunk("c", "stdout")] }),
      lease.operation("release", { outcome: "succeeded" }),
    );
  });

  test("events are whole, oldest first, numbered from 1", async () => {
    const { events, next_cursor } = await page("events");
    assert.equal(next_cursor, null);
    assert.deepEqual(
      events.map(({ id, kind, attempt_number }: Json) => [id, kind, attempt_number]),
      [
        ["1", "run.created", null],
        ["2", "run.queued", null],
        ["3", "run.leased", 1],
        ["4", "run.started", 1],
        ["5", "step.completed", 1],
        ["6", "step.completed", 1],
        ["7", "run.succeeded", 1],
      ],
    );
    assert.deepEqual(events[5], {
      id: "6",
      run_id: lease.runId,
      attempt_number: 1,
      kind: "step.completed",
      severity: "debug",
      message: "Step.",
      attributes: { n: 2 },
      at: events[3].at,
    });
  });

  test("follow each other at any limit, also from the middle of what one transaction wrote", async () => {
    for (const limit of [1, 2, 3, 7]) {
      const seen: string[] = [];
      let cursor: string | null = "0";
      while (cursor !== null) {
        const body: Json = await page(`events?limit=${limit}&cursor=${cursor}`);
        assert.ok(body.events.length <= limit);
        seen.push(...body.events.map(({ id }: Json) => id));
        cursor = body.next_cursor;
      }
      assert.deepEqual(seen, ["1", "2", "3", "4", "5", "6", "7"]);
    }
    assert.deepEqual(await page("events?cursor=7"), { events: [], next_cursor: null });
    assert.deepEqual(await page("events?cursor=999999999999999"), { events: [], next_cursor: null });
  });

  test("logs are chunks with their stream, in the order they came", async () => {
    const first = await page("logs?limit=2");
    assert.deepEqual(
      first.logs.map(({ id, stream, data, attempt_number }: Json) => [id, stream, data, attempt_number]),
      [
        ["1", "stdout", "YQ==", 1],
        ["2", "stderr", "Yg==", 1],
      ],
    );
    assert.equal(first.next_cursor, "2");
    const second = await page("logs?limit=2&cursor=2");
    assert.deepEqual([second.logs.length, second.logs[0].data, second.next_cursor], [1, "Yw==", null]);
    assert.deepEqual(await page("logs?cursor=999999999999999"), { logs: [], next_cursor: null });
  });

  test("refuse a cursor that is no number, and a limit out of range", async () => {
    for (const feed of ["events", "logs"]) {
      for (const [query, code] of [
        ["cursor=abc", "invalid_cursor"],
        ["cursor=-1", "invalid_cursor"],
        ["cursor=1.5", "invalid_cursor"],
        ["cursor=", "invalid_cursor"],
        ["limit=0", "invalid_request"],
        ["limit=201", "invalid_request"],
        ["follow=1", "invalid_request"],
      ]) {
        assert.deepEqual(
          await refusal(`/v1/runs/${lease.runId}/${feed}?${query}`),
          [400, code],
          `${feed} ${query}`,
        );
      }
    }
  });
});
