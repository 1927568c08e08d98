import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { systemClock } from "../../../src/clock.ts";
import { enrollWorker, heldLease, type HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

const AT = "2026-11-20T09:15:00.123Z";
const chunk = (text: string, stream = "stdout"): object => ({
  stream,
  data: Buffer.from(text).toString("base64"),
  at: AT,
});

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

/** Starts a run and has the worker lease it. */
async function leased(body: object = {}, worker = scene.worker): Promise<HeldLease> {
  const run = await scene.start("plain", body);
  const lease = await worker.takeOne();
  assert.equal(lease.runId, run.id);
  return lease;
}

const logsOf = async (runId: string): Promise<string[]> => {
  const { body } = await scene.call("GET", `/v1/runs/${runId}/logs`);
  return body.logs.map(({ data }: { data: string }) => Buffer.from(data, "base64").toString());
};

describe("leasing", () => {
  test("gives a repeat with the same lease_request_id the leases that are still held", async () => {
    const ids = [(await scene.start("plain")).id, (await scene.start("plain")).id];
    const first = await scene.worker.lease({ limit: 2, requestId: "repeat" });
    assert.deepEqual(
      first.executions.map(({ run }: { run: { id: string } }) => run.id),
      ids,
    );
    assert.deepEqual(await scene.worker.lease({ limit: 2, requestId: "repeat" }), first);
    const [one, two] = first.executions.map(heldLease) as [HeldLease, HeldLease];
    await scene.worker.finish(one);
    const again = await scene.worker.lease({ limit: 2, requestId: "repeat" });
    assert.deepEqual(again.executions, [first.executions[1]]);
    assert.deepEqual((await scene.worker.lease({ limit: 2, requestId: "next" })).executions, []);
    await scene.worker.finish(two);
  });

  test("answers empty when its wait is over", async () => {
    const begin = systemClock();
    const answer = await scene.worker.lease({ wait: "250ms" });
    assert.deepEqual(answer, {
      lease_duration: "15s",
      executions: [],
      cancellations: [],
      deployment_checks: [],
    });
    assert.ok(systemClock() - begin >= 240, "it did not wait");
  });

  test("refuses a wait over 60s and a limit over 500", async () => {
    const ask = (extra: object) =>
      scene.worker.call("POST", "/executions/lease", { lease_request_id: "x", limit: 1, ...extra });
    assert.deepEqual((await ask({ wait: "61s" })).body.error.details.issues[0].path, "wait");
    assert.deepEqual((await ask({ limit: 501 })).body.error.details.issues[0].path, "limit");
  });

  test("gives the whole execution", async () => {
    const lease = await leased({ payload: { a: [1] }, metadata: { m: 1 }, tags: ["t"], max_duration: "90s" });
    const { execution } = lease;
    const run = await scene.get(lease.runId);
    assert.match(execution.bundle_digest, /^[0-9a-f]{64}$/);
    assert.deepEqual(execution.entrypoint, {
      kind: "task",
      declared_id: "plain",
      execution: "exclusive",
      memory_mb: null,
      max_duration: "90s",
    });
    const ahead = Date.parse(execution.expires_at) - scene.clock.now();
    assert.ok(ahead > 10_000 && ahead <= 15_000, `the lease ends in ${ahead} ms`);
    for (const name of [
      "id",
      "project_id",
      "environment_id",
      "task",
      "payload",
      "metadata",
      "tags",
      "queue",
    ]) {
      assert.deepEqual(execution.run[name], run[name], name);
    }
    assert.deepEqual(
      [execution.epoch, execution.run.attempt_number, execution.run.deployment_version],
      [1, 1, run.deployment_version],
    );
    assert.deepEqual([execution.secrets, execution.journal, execution.resolved_wait], [{}, [], null]);
    await scene.worker.finish(lease);
  });

  test("takes nothing for a caller that has hung up", async () => {
    const hangUp = new AbortController();
    const gone = fetch(`${scene.server.url}/worker/v1/executions/lease`, {
      method: "POST",
      headers: { authorization: `Bearer ${scene.worker.token}`, "content-type": "application/json" },
      body: JSON.stringify({ lease_request_id: "gone", limit: 10, wait: "30s" }),
      signal: hangUp.signal,
    });
    await scene.worker.seesRequest("gone");
    hangUp.abort();
    await assert.rejects(gone);
    const other = await enrollWorker(scene.server);
    const lease = await leased({}, other);
    await other.finish(lease);
  });

  test("is refused to a worker that has not activated", async () => {
    const idle = await enrollWorker(scene.server, { activate: false });
    const answer = await idle.call("POST", "/executions/lease", {
      lease_request_id: "x",
      limit: 1,
      wait: "0s",
    });
    assert.deepEqual([answer.status, answer.body.error.code], [409, "invalid_state"]);
  });

  test("gives a draining worker nothing more, and it is drained once it holds nothing", async () => {
    const worker = await enrollWorker(scene.server);
    const lease = await leased({}, worker);
    assert.equal((await worker.call("POST", "/drain")).body.status, "draining");
    const run = await scene.start("plain");
    assert.deepEqual((await worker.lease({ limit: 5 })).executions, []);
    assert.deepEqual((await worker.renew(lease)).renewed, [lease.fields.lease_id]);
    assert.equal((await worker.call("POST", "/heartbeat", {})).body.status, "draining");
    await worker.finish(lease);
    assert.equal((await worker.call("POST", "/heartbeat", {})).body.status, "drained");
    const next = await scene.worker.takeOne();
    assert.equal(next.runId, run.id);
    await scene.worker.finish(next);
  });

  test("gives a worker nothing that began to drain while it waited", async () => {
    const worker = await enrollWorker(scene.server);
    const waiting = worker.lease({ limit: 5, wait: "2s", requestId: "drained-while-waiting" });
    await worker.seesRequest("drained-while-waiting");
    assert.equal((await worker.call("POST", "/drain")).body.status, "drained");
    // Several, because its poll may just be looking again when the first one comes.
    for (let round = 0; round < 3; round += 1) {
      const run = await scene.start("plain");
      const lease = await scene.worker.takeOne();
      assert.equal(lease.runId, run.id);
      await scene.worker.finish(lease);
    }
    assert.deepEqual((await waiting).executions, []);
  });

  test("goes by priority, then by age, and tells /api/worker the same", async () => {
    const low = await scene.start("plain", { priority: -1 });
    const first = await scene.start("plain", { priority: 5 });
    const second = await scene.start("plain", { priority: 5 });
    const normal = await scene.start("plain");
    const worker = await enrollWorker(scene.server, { mount: "/api/worker" });
    const leases = await worker.take(4);
    assert.deepEqual(
      leases.map(({ runId }) => runId),
      [first.id, second.id, normal.id, low.id],
    );
    for (const lease of leases) await worker.finish(lease);
  });
});

describe("operations of a lease", () => {
  test("are refused whole and without effect under another epoch, lease, run or environment", async () => {
    const lease = await leased();
    const other = await leased();
    const good = { ...lease.operation("logs", { chunks: [chunk("kept")] }) };
    const wrong = [
      { epoch: lease.fields.epoch + 1 },
      { lease_id: other.fields.lease_id },
      { run_id: other.fields.run_id },
      { environment_id: lease.fields.environment_id.replace(/.$/, (last) => (last === "0" ? "1" : "0")) },
    ];
    for (const change of wrong) {
      const { kind: _, ...body } = { ...good, ...change };
      const answer = await scene.worker.call("POST", "/executions/logs", body);
      assert.deepEqual([answer.status, answer.body.error.code], [409, "lease_lost"], JSON.stringify(change));
    }
    assert.deepEqual(await logsOf(lease.runId), []);
    assert.deepEqual(await logsOf(other.runId), []);
    assert.deepEqual(await scene.worker.report(good), [200]);
    assert.deepEqual(await logsOf(lease.runId), ["kept"]);
    await scene.worker.finish(lease);
    await scene.worker.finish(other);
  });

  test("cannot be written with another worker's token", async () => {
    const lease = await leased();
    const other = await enrollWorker(scene.server);
    const start = lease.operation("start");
    const release = lease.operation("release", { outcome: "succeeded", output: "stolen" });
    assert.deepEqual(await other.report(start, release), ["lease_lost", "lease_lost"]);
    assert.deepEqual((await other.renew(lease)).lost, [lease.fields.lease_id]);
    assert.equal((await scene.get(lease.runId)).started_at, null);
    assert.deepEqual(await scene.worker.report(start, { ...release, output: "own" }), [200, 200]);
    assert.equal((await scene.get(lease.runId)).output, "own");
  });

  test("count up: a repeat has no second effect, a gap is refused", async () => {
    const lease = await leased();
    const [start, one, two] = [
      lease.operation("start"),
      lease.operation("logs", { chunks: [chunk("1"), chunk("2", "stderr")] }),
      lease.operation("logs", { chunks: [chunk("3")] }),
    ];
    assert.deepEqual(await scene.worker.report(one, start), ["invalid_state", 200]);
    assert.deepEqual(await scene.worker.report(two), ["invalid_state"]);
    assert.deepEqual(await scene.worker.report(start, one, one, two), [200, 200, 200, 200]);
    assert.deepEqual(await scene.worker.report(one, two), [200, 200]);
    assert.deepEqual(await logsOf(lease.runId), ["1", "2", "3"]);
    const startKinds = (await scene.eventKinds(lease.runId)).filter((kind) => kind === "run.started");
    assert.equal(startKinds.length, 1);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("have their own result each: one lost lease does not hold the others back", async () => {
    const [a, b] = [await leased(), await leased()];
    const lost = { ...a.operation("start"), run_id: "run_00000000000000000000000000" };
    const malformedLease = { ...lost, lease_id: "lease_7zzzzzzzzzzzzzzzzzzzzzzzzz" };
    const good = { ...lost, run_id: a.runId };
    assert.deepEqual(await scene.worker.report(good, lost, b.operation("start"), malformedLease), [
      200,
      "lease_lost",
      200,
      "lease_lost",
    ]);
    for (const lease of [a, b]) {
      assert.notEqual((await scene.get(lease.runId)).started_at, null);
      await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    }
  });

  test("each have a route of their own under both mounts", async () => {
    const worker = await enrollWorker(scene.server, { mount: "/api/worker" });
    const lease = await leased({}, worker);
    const send = async (operation: { kind: string }): Promise<number> => {
      const { kind, ...body } = operation;
      return (await worker.call("POST", `/executions/${kind}`, body)).status;
    };
    assert.equal(await send(lease.operation("start")), 200);
    assert.equal(await send(lease.operation("logs", { chunks: [chunk("x")] })), 200);
    const event = { kind: "step.completed", message: "Read.", attributes: { name: "read" }, at: AT };
    assert.equal(await send(lease.operation("events", { events: [event] })), 200);
    assert.equal(
      await send(lease.operation("metadata", { changes: [{ op: "set", key: "a", value: 1 }] })),
      200,
    );
    assert.equal(await send(lease.operation("release", { outcome: "succeeded", output: [1] })), 200);
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.output, run.metadata], ["succeeded", [1], { a: 1 }]);
    assert.deepEqual(await scene.eventKinds(lease.runId), [
      "run.created",
      "run.queued",
      "run.leased",
      "run.started",
      "step.completed",
      "metadata.updated",
      "run.succeeded",
    ]);
  });

  test("cannot write the engine's own events", async () => {
    const lease = await leased();
    const forged = lease.operation("events", {
      events: [{ kind: "run.succeeded", message: "Done.", at: AT }],
    });
    const answer = await scene.worker.call("POST", "/executions/report", { operations: [forged] });
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
    await scene.worker.report({
      ...forged,
      events: [{ kind: "step.failed", severity: "warn", message: "x", at: AT }],
    });
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("take a chunk of 64 KiB and a body of 4 MiB, and no more", async () => {
    const lease = await leased();
    const fits = lease.operation("logs", { chunks: [chunk("x".repeat(65_536))] });
    assert.deepEqual(await scene.worker.report(fits), [200]);
    const tooLarge = lease.operation("logs", { chunks: [chunk("y"), chunk("x".repeat(65_537))] });
    assert.deepEqual(await scene.worker.report(tooLarge), ["payload_too_large"]);
    const noBase64 = { ...tooLarge, chunks: [{ stream: "stdout", data: "!!!!", at: AT }] };
    assert.deepEqual(await scene.worker.report(noBase64), ["invalid_request"]);
    const chunks = Array.from({ length: 50 }, () => chunk("x".repeat(65_536)));
    const many = await scene.worker.call("POST", "/executions/report", { operations: [{ ...fits, chunks }] });
    assert.deepEqual([many.status, many.body.error.code], [413, "payload_too_large"]);
    // What was refused had no effect and did not use its sequence up.
    assert.deepEqual(await scene.worker.report({ ...tooLarge, chunks: [chunk("z")] }), [200]);
    assert.deepEqual(
      (await logsOf(lease.runId)).map(({ length }) => length),
      [65_536, 1],
    );
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("refuse a time in a leap second, which no clock here has", async () => {
    const lease = await leased();
    const start = { ...lease.operation("start"), at: "2016-12-31T23:59:60Z" };
    const answer = await scene.worker.call("POST", "/executions/report", { operations: [start] });
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
  });

  test("refuse an output over 512 KiB for that operation alone", async () => {
    const [a, b] = [await leased(), await leased()];
    const large = a.operation("release", { outcome: "succeeded", output: "x".repeat(512 * 1024 - 1) });
    const small = b.operation("release", { outcome: "succeeded", output: "x".repeat(512 * 1024 - 2) });
    assert.deepEqual(await scene.worker.report(large, small), ["payload_too_large", 200]);
    assert.equal((await scene.get(a.runId)).status, "running");
    const failure = { kind: "application_error", message: "The output is too large.", retryable: false };
    assert.deepEqual(
      await scene.worker.report({ ...large, output: undefined, outcome: "failed", failure }),
      [200],
    );
    assert.equal((await scene.get(a.runId)).status, "failed");
  });

  test("change metadata in order, and refuse what does not fit", async () => {
    const lease = await leased({ metadata: { count: 1, list: ["a"], text: "t", gone: 1 } });
    const change = (...changes: object[]) => lease.operation("metadata", { changes });
    const applied = change(
      { op: "set", key: "new", value: { a: 1 } },
      { op: "set", key: "__proto__", value: 7 },
      { op: "increment", key: "count", value: 2.5 },
      { op: "increment", key: "fresh", value: -1 },
      { op: "append", key: "list", value: "b" },
      { op: "append", key: "lines", value: null },
      { op: "remove", key: "gone" },
      { op: "remove", key: "never" },
    );
    assert.deepEqual(await scene.worker.report(applied), [200]);
    const { metadata } = await scene.get(lease.runId);
    assert.deepEqual(
      Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)),
      [
        ["__proto__", 7],
        ["count", 3.5],
        ["fresh", -1],
        ["lines", [null]],
        ["list", ["a", "b"]],
        ["new", { a: 1 }],
        ["text", "t"],
      ],
    );
    const refused = change({ op: "increment", key: "text", value: 1 });
    const withChanges = (...changes: object[]): object => ({ ...refused, changes });
    const results = await scene.worker.report(
      refused,
      withChanges({ op: "increment", key: "count", value: "1" }),
      withChanges({ op: "append", key: "text", value: 1 }),
      withChanges({ op: "set", key: "count" }),
      withChanges({ op: "set", key: "count", value: 0 }, { op: "append", key: "text", value: 1 }),
      withChanges({ op: "set", key: "large", value: "x".repeat(16 * 1024) }),
    );
    assert.deepEqual(results, [...Array.from({ length: 5 }, () => "invalid_request"), "payload_too_large"]);
    assert.deepEqual((await scene.get(lease.runId)).metadata, metadata);
    assert.deepEqual(await scene.worker.report(withChanges({ op: "set", key: "count", value: 0 })), [200]);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    assert.equal((await scene.get(lease.runId)).metadata.count, 0);
  });
});

describe("releasing", () => {
  test("ends the lease: its repeat is answered, what comes after it is lost", async () => {
    const lease = await leased();
    const start = lease.operation("start");
    const release = lease.operation("release", { outcome: "succeeded", output: { n: 1 } });
    const logs = lease.operation("logs", { chunks: [chunk("late")] });
    assert.deepEqual(await scene.worker.report(start, release, logs), [200, 200, "lease_lost"]);
    assert.deepEqual(await scene.worker.report(start, { ...release, output: { n: 2 } }, logs), [
      200,
      200,
      "lease_lost",
    ]);
    assert.deepEqual(await scene.worker.report(lease.operation("release", { outcome: "failed" })), [
      "lease_lost",
    ]);
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.output, run.attempt_number], ["succeeded", { n: 1 }, 1]);
    assert.deepEqual(await logsOf(lease.runId), []);
    assert.equal((await scene.eventKinds(lease.runId)).filter((kind) => kind === "run.succeeded").length, 1);
  });

  test("as failed needs a failure", async () => {
    const lease = await leased();
    const release = lease.operation("release", { outcome: "failed" });
    assert.deepEqual(await scene.worker.report(release), ["invalid_request"]);
    await scene.worker.report({ ...release, outcome: "succeeded" });
  });

  test("as rejected queues the run again without counting the attempt", async () => {
    const lease = await leased({ retry: { max_attempts: 1 } });
    assert.deepEqual(await scene.worker.report(lease.operation("release", { outcome: "rejected" })), [200]);
    assert.deepEqual((await scene.get(lease.runId)).status, "queued");
    const again = await scene.worker.takeOne();
    assert.deepEqual(
      [again.runId, again.execution.run.attempt_number, again.execution.epoch],
      [lease.runId, 1, 2],
    );
    await scene.worker.finish(again);
  });

  const failure = (extra: object = {}): object => ({
    outcome: "failed",
    failure: { kind: "application_error", message: "No.", stack: "at x", retryable: true, ...extra },
  });
  const delayOf = async (lease: HeldLease): Promise<number> => {
    const { body } = await scene.call("GET", `/v1/runs/${lease.runId}/events`);
    const events = body.events.filter(({ kind }: { kind: string }) => kind === "run.retry_delayed");
    return events.at(-1).attributes.delay_ms;
  };

  test("as failed delays the next attempt, longer each time up to the maximum, until none is left", async () => {
    const retry = { max_attempts: 4, initial_delay: "2s", factor: 3, max_delay: "10s", jitter: false };
    let lease = await leased({ retry });
    for (const [index, delayMs] of [2_000, 6_000, 10_000].entries()) {
      await scene.worker.finish(lease, "failed", failure());
      const run = await scene.get(lease.runId);
      assert.deepEqual([run.status, run.attempt_number, run.failure], ["retry_delayed", index + 1, null]);
      assert.equal(run.status_reason.kind, "retry_delay");
      assert.equal(await delayOf(lease), delayMs);
      scene.clock.advance(delayMs - 1_000);
      assert.deepEqual((await scene.worker.lease()).executions, []);
      scene.clock.advance(1_000);
      const next = await scene.worker.takeOne();
      assert.deepEqual([next.runId, next.execution.run.attempt_number], [lease.runId, index + 2]);
      lease = next;
    }
    await scene.worker.finish(lease, "failed", failure());
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.attempt_number, run.max_attempts], ["failed", 4, 4]);
    assert.deepEqual(run.failure, {
      kind: "application_error",
      message: "No.",
      stack: "at x",
      retryable: true,
    });
    const kinds = await scene.eventKinds(lease.runId);
    assert.deepEqual(kinds.slice(-6), [
      "run.started",
      "run.retry_delayed",
      "run.queued",
      "run.leased",
      "run.started",
      "run.failed",
    ]);
  });

  test("as failed spreads the delay over its upper half, and takes the worker's retry_after instead", async () => {
    const lease = await leased({ retry: { max_attempts: 3, initial_delay: "10s" } });
    await scene.worker.finish(lease, "failed", failure());
    const delayMs = await delayOf(lease);
    assert.ok(delayMs >= 5_000 && delayMs <= 10_000, `it was ${delayMs} ms`);
    scene.clock.advance(10_000);
    const second = await scene.worker.takeOne();
    await scene.worker.finish(second, "failed", failure({ retry_after: "45s" }));
    assert.equal(await delayOf(second), 45_000);
    scene.clock.advance(45_000);
    const third = await scene.worker.takeOne();
    await scene.worker.finish(third, "failed", failure({ retry_after: "1s" }));
    assert.equal((await scene.get(lease.runId)).status, "failed");
  });

  test("as failed before the code began uses an attempt up all the same", async () => {
    const lease = await leased({ retry: { max_attempts: 2, initial_delay: "1s", jitter: false } });
    const outOfMemory = failure({ kind: "out_of_memory" });
    assert.deepEqual(await scene.worker.report(lease.operation("release", outOfMemory)), [200]);
    scene.clock.advance(1_000);
    const second = await scene.worker.takeOne();
    assert.deepEqual([second.runId, second.execution.run.attempt_number], [lease.runId, 2]);
    assert.deepEqual(await scene.worker.report(second.operation("release", outOfMemory)), [200]);
    const { status, attempt_number } = await scene.get(lease.runId);
    assert.deepEqual([status, attempt_number], ["failed", 2]);
  });

  test("as failed cuts a retry_after beyond every clock", async () => {
    const lease = await leased();
    await scene.worker.finish(lease, "failed", failure({ retry_after: "999999999999d" }));
    const { status, status_reason } = await scene.get(lease.runId);
    assert.deepEqual([status, status_reason.kind], ["retry_delayed", "retry_delay"]);
    await scene.cancel(lease.runId);
  });

  for (const [why, extra] of [
    ["is not to be retried", { retryable: false }],
    ["would come again: payload_invalid", { kind: "payload_invalid" }],
    ["would come again: bundle_error", { kind: "bundle_error" }],
  ] as const) {
    test(`as failed ends the run at once when the failure ${why}`, async () => {
      const lease = await leased();
      await scene.worker.finish(lease, "failed", failure(extra));
      assert.deepEqual((await scene.get(lease.runId)).status, "failed");
    });
  }
});

describe("a lost lease", () => {
  const lose = async (lease: HeldLease): Promise<void> => {
    scene.clock.advance(16_000);
    await scene.happens(lease.runId, "lease.lost");
  };

  test("before the start keeps the attempt, after it costs one, and the last one fails the system", async () => {
    const lease = await leased({ retry: { max_attempts: 2 } });
    await lose(lease);
    const recovering = await scene.get(lease.runId);
    assert.deepEqual([recovering.status, recovering.status_reason.kind], ["queued", "lease_recovery"]);
    const second = await scene.worker.takeOne();
    assert.deepEqual([second.execution.run.attempt_number, second.execution.epoch], [1, 2]);
    assert.deepEqual(await scene.worker.report(second.operation("start")), [200]);
    scene.clock.advance(16_000);
    const third = await scene.worker.takeOne();
    assert.deepEqual(
      [third.runId, third.execution.run.attempt_number, third.execution.epoch],
      [lease.runId, 2, 3],
    );
    assert.deepEqual(await scene.worker.report(third.operation("start")), [200]);
    scene.clock.advance(16_000);
    await scene.happens(lease.runId, "run.system_failed");
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.attempt_number, run.failure.kind], ["system_failed", 2, "lease_lost"]);
    assert.deepEqual(await scene.worker.report(third.operation("release", { outcome: "succeeded" })), [
      "lease_lost",
    ]);
  });

  test("is refused to the one who lost it and leaves the next holder alone", async () => {
    const lease = await leased();
    const start = lease.operation("start");
    assert.deepEqual(await scene.worker.report(start), [200]);
    await lose(lease);
    const late = [
      lease.operation("logs", { chunks: [chunk("late")] }),
      lease.operation("release", { outcome: "succeeded" }),
    ];
    assert.deepEqual(await scene.worker.report(...late), ["lease_lost", "lease_lost"]);
    assert.deepEqual((await scene.worker.renew(lease)).lost, [lease.fields.lease_id]);
    const next = await scene.worker.takeOne();
    assert.equal(next.runId, lease.runId);
    assert.deepEqual(await scene.worker.report(start, ...late), ["lease_lost", "lease_lost", "lease_lost"]);
    await scene.worker.finish(next, "succeeded", { output: "second" });
    assert.equal((await scene.get(lease.runId)).output, "second");
    assert.deepEqual(await logsOf(lease.runId), []);
  });

  test("may still be written as long as nobody has taken it over: time alone loses nothing", async () => {
    const lease = await leased();
    // No sweep comes between: the clock moves and the report is the next thing that happens.
    scene.clock.advance(15_500);
    const results = await scene.worker.report(
      lease.operation("start"),
      lease.operation("release", { outcome: "succeeded" }),
    );
    assert.ok(
      results.every((result) => result === 200) || results.every((result) => result === "lease_lost"),
    );
    if (results[0] === "lease_lost") await scene.worker.finish(await scene.worker.takeOne());
  });
});

describe("renewing", () => {
  test("keeps leases past their time and tells what is lost", async () => {
    const lease = await leased();
    for (let round = 0; round < 3; round += 1) {
      scene.clock.advance(10_000);
      const answer = await scene.worker.renew(lease);
      assert.deepEqual(
        [answer.renewed, answer.lost, answer.cancellations],
        [[lease.fields.lease_id], [], []],
      );
      assert.ok(Date.parse(answer.expires_at) > scene.clock.now() + 14_000);
    }
    await scene.worker.finish(lease);
    const wrongEpoch = { ...lease, fields: { ...lease.fields, epoch: 9 } };
    assert.deepEqual((await scene.worker.renew(lease, wrongEpoch)).renewed, []);
    assert.equal((await scene.worker.renew(lease)).lost[0], lease.fields.lease_id);
  });

  test("tells of runs to cancel", async () => {
    const lease = await leased();
    assert.equal((await scene.cancel(lease.runId)).body.status, "cancel_requested");
    const { lease_id, run_id, epoch } = lease.fields;
    const told = [{ lease_id, run_id, epoch }];
    assert.deepEqual((await scene.worker.renew(lease)).cancellations, told);
    assert.deepEqual((await scene.worker.lease({ limit: 0, wait: "5s" })).cancellations, told);
    await scene.worker.finish(lease, "cancelled");
    assert.equal((await scene.get(lease.runId)).status, "cancelled");
  });

  test("does not extend max_duration: the sweep ends an attempt that its worker does not end", async () => {
    const lease = await leased({
      max_duration: "5s",
      retry: { max_attempts: 2, initial_delay: "1s", jitter: false },
    });
    assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
    for (let elapsed = 0; elapsed < 24_000; elapsed += 8_000) {
      assert.deepEqual((await scene.worker.renew(lease)).lost, []);
      scene.clock.advance(8_000);
    }
    assert.deepEqual((await scene.worker.renew(lease)).lost, []);
    scene.clock.advance(2_000);
    await scene.happens(lease.runId, "run.retry_delayed");
    assert.deepEqual((await scene.worker.renew(lease)).lost, [lease.fields.lease_id]);
    scene.clock.advance(1_000);
    const second = await scene.worker.takeOne();
    assert.equal(second.execution.run.attempt_number, 2);
    await scene.worker.finish(second, "failed", {
      failure: { kind: "timed_out", message: "Over its time.", retryable: true },
    });
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.failure.kind], ["failed", "timed_out"]);
  });
});

describe("cancelling a leased run", () => {
  test("tells the waiting worker at once", async () => {
    const lease = await leased();
    const waiting = scene.worker.lease({ limit: 0, wait: "20s" });
    await scene.cancel(lease.runId);
    const { cancellations } = await waiting;
    assert.deepEqual(cancellations, [
      { run_id: lease.runId, lease_id: lease.fields.lease_id, epoch: lease.fields.epoch },
    ]);
    // What the code was doing may still be reported.
    assert.deepEqual(
      await scene.worker.report(lease.operation("logs", { chunks: [chunk("stopping")] })),
      [200],
    );
    await scene.worker.finish(lease, "cancelled");
    assert.deepEqual((await scene.eventKinds(lease.runId)).slice(-3), [
      "run.cancel_requested",
      "run.started",
      "run.cancelled",
    ]);
  });

  test("ends it as cancelled whatever its code did in the meantime", async () => {
    const lease = await leased();
    await scene.cancel(lease.runId);
    await scene.worker.finish(lease, "succeeded", { output: 1 });
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.output], ["cancelled", null]);
  });

  test("ends it without its worker when that does not answer in time", async () => {
    const lease = await leased();
    await scene.cancel(lease.runId);
    for (let round = 0; round < 2; round += 1) {
      scene.clock.advance(9_000);
      assert.deepEqual((await scene.worker.renew(lease)).lost, []);
    }
    scene.clock.advance(3_000);
    await scene.happens(lease.runId, "run.cancelled");
    assert.deepEqual((await scene.worker.renew(lease)).lost, [lease.fields.lease_id]);
  });
});
