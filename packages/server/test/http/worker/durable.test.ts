import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { outlastLeases } from "../../support/outlast-leases.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({
    tasks: [
      { id: "parent" },
      { id: "child", payload_schema: { type: "object", required: ["n"] } },
      { id: "one-at-a-time", queue: "narrow" },
    ],
    queues: [{ name: "narrow", concurrency_limit: 1 }],
  });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

/** Starts a run, has the worker lease it and say that it began. */
async function begun(body: object = {}, task = "parent"): Promise<HeldLease> {
  const run = await scene.start(task, body);
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, run.id);
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return lease;
}

const stepEntry = (position: number, name: string, value: unknown): object => ({
  position,
  kind: "step",
  name,
  value,
});

const timer = (position: number, timeout: string): object => ({
  position,
  name: "timer",
  kind: "timer",
  timeout,
});

/** Waits for one thing and parks. @returns what the server says to that. */
async function park(lease: HeldLease, ...waits: object[]): Promise<Json> {
  const [result] = await scene.worker.results(lease.operation("waits", { waits, parked: true }));
  assert.equal(result.status, 200, JSON.stringify(result));
  return result.result;
}

async function suspend(lease: HeldLease): Promise<void> {
  const ready = lease.operation("checkpoints/ready");
  const release = lease.operation("release", { outcome: "suspended" });
  assert.deepEqual(await scene.worker.report(ready, release), [200, 200]);
}

/** Polls until the server tells of settled waits of the lease. */
async function resumption(lease: HeldLease): Promise<Json> {
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    const { resumptions } = await scene.worker.lease({ limit: 0, wait: "2s" });
    const own = resumptions.find(({ lease_id: id }: Json) => id === lease.fields.lease_id);
    if (own !== undefined) return own;
  }
  throw new Error("The worker was told of nothing.");
}

describe("a journal", () => {
  test("is handed to the next attempt, in the order in which outcomes were entered", async () => {
    const lease = await begun({ retry: { max_attempts: 2, initial_delay: "1s", jitter: false } });
    const entries = [stepEntry(2, "second", { b: 2 }), stepEntry(1, "first", null)];
    const failure = {
      kind: "application_error",
      message: "boom",
      retryable: true,
    };
    const outcomes = await scene.worker.report(
      lease.operation("steps", { entries }),
      lease.operation("steps", {
        entries: [
          {
            position: 3,
            kind: "step",
            name: "third",
            error: { name: "Error", message: "no", stack: null, code: null },
          },
        ],
      }),
      lease.operation("release", { outcome: "failed", failure }),
    );
    assert.deepEqual(outcomes, [200, 200, 200]);
    scene.clock.advance(1_000);
    const again = await scene.worker.takeOne();
    assert.equal(again.execution.run.attempt_number, 2);
    assert.deepEqual(
      again.execution.journal.map(({ position, name, value, error }: Json) => [
        position,
        name,
        value,
        error?.message,
      ]),
      [
        [2, "second", { b: 2 }, undefined],
        [1, "first", null, undefined],
        [3, "third", null, "no"],
      ],
    );
    await scene.worker.finish(again);
  });

  test("refuses an outcome over 512 KiB and keeps nothing of the operation", async () => {
    const lease = await begun();
    const entries = [stepEntry(1, "small", 1), stepEntry(2, "large", "x".repeat(600 * 1024))];
    const [refused] = await scene.worker.results(lease.operation("steps", { entries }));
    assert.equal(refused.error.code, "payload_too_large");
    assert.match(refused.error.message, /"large".*Store it elsewhere/);
    await scene.worker.renew(lease);
  });

  test("does not accept a wait that has not settled", async () => {
    const lease = await begun();
    await park(lease, timer(1, "1h"));
    const accept = lease.operation("steps", { entries: [{ position: 1, kind: "wait", name: "timer" }] });
    assert.deepEqual(await scene.worker.report(accept), ["invalid_state"]);
  });
});

describe("a timer", () => {
  test("parks its run, and lets it go on in memory when it is due", async () => {
    const lease = await begun();
    assert.deepEqual(await park(lease, timer(1, "5s")), { parked: true, waits: [] });
    const waiting = await scene.get(lease.runId);
    assert.equal(waiting.status, "waiting");
    assert.equal(waiting.status_reason.kind, "waiting");
    assert.equal(waiting.pending_wait.kind, "timer");
    assert.equal(
      Date.parse(waiting.pending_wait.timeout_at) - Date.parse(waiting.pending_wait.created_at),
      5_000,
    );
    scene.clock.advance(5_000);
    const { waits } = await resumption(lease);
    assert.deepEqual(
      waits.map(({ position, status, value }: Json) => [position, status, value]),
      [[1, "resolved", null]],
    );
    assert.equal((await scene.get(lease.runId)).status, "running");
    const accept = lease.operation("steps", { entries: [{ position: 1, kind: "wait", name: "timer" }] });
    assert.deepEqual(
      await scene.worker.report(accept, lease.operation("release", { outcome: "succeeded" })),
      [200, 200],
    );
    const kinds = await scene.eventKinds(lease.runId);
    assert.deepEqual(kinds.slice(4), [
      "wait.created",
      "run.waiting",
      "wait.resolved",
      "run.resumed",
      "run.succeeded",
    ]);
  });

  test("of a suspended run queues it when it is due, with its attempt and its journal", async () => {
    const lease = await begun();
    assert.deepEqual(
      await scene.worker.report(lease.operation("steps", { entries: [stepEntry(1, "before", "kept")] })),
      [200],
    );
    await park(lease, timer(2, "3m"));
    await suspend(lease);
    assert.deepEqual((await scene.worker.renew(lease)).lost, [lease.fields.lease_id]);
    scene.clock.advance(180_000);
    const resumed = await scene.worker.takeOne();
    const { execution } = resumed;
    assert.equal(execution.run.attempt_number, 1);
    assert.deepEqual(
      execution.journal.map(({ name, value }: Json) => [name, value]),
      [["before", "kept"]],
    );
    assert.deepEqual(
      execution.waits.map(({ position, status }: Json) => [position, status]),
      [[2, "resolved"]],
    );
    await scene.worker.finish(resumed);
    const kinds = await scene.eventKinds(lease.runId);
    assert.deepEqual(kinds.slice(4), [
      "wait.created",
      "run.waiting",
      "checkpoint.ready",
      "run.suspended",
      "wait.resolved",
      "run.queued",
      "run.leased",
      "run.resumed",
      "run.succeeded",
    ]);
  });

  test("that is due at once does not park", async () => {
    const lease = await begun();
    const { parked, waits } = await park(lease, timer(1, "0ms"));
    assert.deepEqual([parked, waits.length, waits[0].status], [false, 1, "resolved"]);
    assert.equal((await scene.get(lease.runId)).status, "running");
  });

  test("needs a time", async () => {
    const lease = await begun();
    const wait = { position: 1, name: "timer", kind: "timer" };
    const operation = lease.operation("waits", { waits: [wait], parked: true });
    assert.deepEqual(await scene.worker.report(operation), ["invalid_request"]);
  });
});

describe("a waiting run", () => {
  test("that its worker lost waits on, and no attempt is used up", async () => {
    const lease = await begun({ retry: { max_attempts: 1 } });
    await park(lease, timer(1, "2m"));
    await outlastLeases(scene);
    await scene.happens(lease.runId, "run.suspended");
    assert.equal((await scene.get(lease.runId)).status, "waiting");
    scene.clock.advance(120_000);
    const resumed = await scene.worker.takeOne();
    assert.equal(resumed.execution.run.attempt_number, 1);
    await scene.worker.finish(resumed);
  });

  test("whose wait settles while its worker is silent goes on elsewhere, and no attempt is used up", async () => {
    const lease = await begun({ retry: { max_attempts: 1 } });
    await park(lease, timer(1, "5s"));
    scene.clock.advance(5_000);
    await scene.happens(lease.runId, "run.resumed");
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    const resumed = await scene.worker.takeOne();
    assert.equal(resumed.execution.run.attempt_number, 1);
    assert.equal(resumed.execution.waits[0].status, "resolved");
    await scene.worker.finish(resumed);
    assert.deepEqual((await scene.eventKinds(lease.runId)).slice(6), [
      ...["wait.resolved", "run.resumed", "lease.lost", "run.suspended", "run.queued"],
      ...["run.leased", "run.resumed", "run.succeeded"],
    ]);
  });

  test("whose worker had heard that its wait settled loses an attempt with its worker", async () => {
    const lease = await begun({ retry: { max_attempts: 2 } });
    await park(lease, timer(1, "5s"));
    scene.clock.advance(5_000);
    await resumption(lease);
    const accept = lease.operation("steps", { entries: [{ position: 1, kind: "wait", name: "timer" }] });
    assert.deepEqual(await scene.worker.report(accept), [200]);
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    const again = await scene.worker.takeOne();
    assert.equal(again.execution.run.attempt_number, 2);
    await scene.worker.finish(again);
  });

  test("whose wait settles while it is being suspended is queued at once", async () => {
    const lease = await begun();
    await park(lease, timer(1, "5s"));
    scene.clock.advance(5_000);
    await scene.happens(lease.runId, "run.resumed");
    await suspend(lease);
    const resumed = await scene.worker.takeOne();
    assert.equal(resumed.execution.waits[0].status, "resolved");
    await scene.worker.finish(resumed);
  });

  test("does not use its max_duration up", async () => {
    const lease = await begun({ max_duration: "1m", retry: { max_attempts: 1 } });
    scene.clock.advance(5_000);
    await scene.worker.renew(lease);
    await park(lease, timer(1, "5m"));
    await suspend(lease);
    scene.clock.advance(300_000);
    const resumed = await scene.worker.takeOne();
    assert.match(resumed.execution.active, /^5(s|\d{3}ms)$/);
    assert.deepEqual(await scene.worker.report(resumed.operation("start")), [200]);
    scene.clock.advance(10_000);
    await scene.worker.renew(resumed);
    assert.equal((await scene.get(lease.runId)).status, "running");
    await scene.worker.report(resumed.operation("release", { outcome: "succeeded" }));
  });

  test("gives its slot of the queue up when it is suspended", async () => {
    const first = await begun({}, "one-at-a-time");
    assert.equal(first.execution.park_after, "0ms");
    const second = await scene.start("one-at-a-time");
    assert.equal((await scene.get(second.id)).status_reason.kind, "queue_limit");
    await park(first, timer(1, "5s"));
    await suspend(first);
    const next = await scene.worker.takeOne();
    assert.equal(next.runId, second.id);
    scene.clock.advance(5_000);
    await scene.happens(first.runId, "wait.resolved");
    assert.equal((await scene.get(first.runId)).status_reason.kind, "queue_limit");
    await scene.worker.finish(next);
    const resumed = await scene.worker.takeOne();
    assert.equal(resumed.runId, first.runId);
    await scene.worker.finish(resumed);
  });

  test("is cancelled at once", async () => {
    const lease = await begun();
    await park(lease, timer(1, "1h"));
    await suspend(lease);
    assert.equal((await scene.cancel(lease.runId)).body.status, "cancelled");
  });
});

describe("a child run", () => {
  const call = (lease: HeldLease, position: number, body: object): Json =>
    lease.operation("child-runs", { position, task: "child", ...body });

  test("is started once, belongs to its parent, and its end resumes it", async () => {
    const parent = await begun();
    const operation = call(parent, 1, { payload: { n: 1 } });
    const [started] = await scene.worker.results(operation);
    const [repeated] = await scene.worker.results(operation);
    assert.deepEqual(repeated, started);
    const childId = started.result.value.id;
    assert.equal((await scene.get(childId)).parent_run_id, parent.runId);
    const children = await scene.call("GET", `/api/runs?parent_run_id=${parent.runId}`);
    assert.deepEqual(
      children.body.runs.map(({ id }: Json) => id),
      [childId],
    );
    assert.equal((await scene.call("GET", "/api/runs?parent_run_id=run")).status, 400);
    const wait = { position: 2, name: "child", kind: "run", run_id: childId };
    assert.deepEqual(await park(parent, wait), { parked: true, waits: [] });
    assert.equal((await scene.get(parent.runId)).pending_wait.run_id, childId);
    const child = await scene.worker.takeOne();
    assert.equal(child.runId, childId);
    await scene.worker.finish(child, "succeeded", { output: { doubled: 2 } });
    const { waits } = await resumption(parent);
    assert.deepEqual(waits[0].value, { status: "succeeded", output: { doubled: 2 }, failure: null });
    await scene.worker.report(parent.operation("release", { outcome: "succeeded" }));
  });

  test("that has ended before it is waited for does not park its parent", async () => {
    const parent = await begun();
    const [started] = await scene.worker.results(call(parent, 1, { payload: { n: 1 } }));
    const child = await scene.worker.takeOne();
    await scene.worker.finish(child, "succeeded", { output: 7 });
    const wait = { position: 2, name: "child", kind: "run", run_id: started.result.value.id };
    const { parked, waits } = await park(parent, wait);
    assert.deepEqual([parked, waits[0].value.output], [false, 7]);
  });

  test("that cannot be started is an outcome of the call, the same each time", async () => {
    const parent = await begun();
    const operations = [
      call(parent, 1, { payload: {} }),
      parent.operation("child-runs", { position: 2, task: "unknown" }),
    ];
    const first = await scene.worker.results(...operations);
    assert.deepEqual(
      first.map(({ result }) => result.error.code),
      ["invalid_payload", "not_found"],
    );
    assert.deepEqual(await scene.worker.results(...operations), first);
  });

  test("is cancelled with its parent, and so are its own children", async () => {
    const parent = await begun();
    const [started] = await scene.worker.results(call(parent, 1, { payload: { n: 1 } }));
    const child = await scene.worker.takeOne();
    const [grandchild] = await scene.worker
      .results(child.operation("start"), call(child, 1, { payload: { n: 2 } }))
      .then((results) => results.slice(1));
    assert.equal((await scene.cancel(parent.runId)).body.status, "cancel_requested");
    assert.equal((await scene.get(started.result.value.id)).status, "cancel_requested");
    assert.equal((await scene.get(grandchild.result.value.id)).status, "cancelled");
  });

  test("is only waited for when it is there", async () => {
    const parent = await begun();
    const wait = { position: 1, name: "child", kind: "run", run_id: "run_01kahvq3rtexwt6a4e3p9c0z5h" };
    assert.deepEqual(await scene.worker.report(parent.operation("waits", { waits: [wait], parked: true })), [
      "not_found",
    ]);
  });
});
