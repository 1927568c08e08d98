import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { enrollWorker, logChunk, REPORTED_AT } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

describe("operations of a lease", () => {
  test("are refused whole and without effect under another epoch, lease, run or environment", async () => {
    const lease = await scene.leased();
    const other = await scene.leased();
    const good = { ...lease.operation("logs", { chunks: [logChunk("kept")] }) };
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
    assert.deepEqual(await scene.logsOf(lease.runId), []);
    assert.deepEqual(await scene.logsOf(other.runId), []);
    // Among good ones of the same run they do not take the others along.
    const strays = wrong.map((change) => ({ ...good, ...change }));
    assert.deepEqual(await scene.worker.report(good, ...strays), [200, ...strays.map(() => "lease_lost")]);
    assert.deepEqual(await scene.logsOf(lease.runId), ["kept"]);
    await scene.worker.finish(lease);
    await scene.worker.finish(other);
  });

  test("cannot be written with another worker's token", async () => {
    const lease = await scene.leased();
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
    const lease = await scene.leased();
    const [start, one, two] = [
      lease.operation("start"),
      lease.operation("logs", { chunks: [logChunk("1"), logChunk("2", "stderr")] }),
      lease.operation("logs", { chunks: [logChunk("3")] }),
    ];
    assert.deepEqual(await scene.worker.report(one, start), ["invalid_state", 200]);
    assert.deepEqual(await scene.worker.report(two), ["invalid_state"]);
    assert.deepEqual(await scene.worker.report(start, one, one, two), [200, 200, 200, 200]);
    assert.deepEqual(await scene.worker.report(one, two), [200, 200]);
    assert.deepEqual(await scene.logsOf(lease.runId), ["1", "2", "3"]);
    const startKinds = (await scene.eventKinds(lease.runId)).filter((kind) => kind === "run.started");
    assert.equal(startKinds.length, 1);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("have their own result each: one lost lease does not hold the others back", async () => {
    const [a, b] = [await scene.leased(), await scene.leased()];
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
    const lease = await scene.leased({}, worker);
    const send = async (operation: { kind: string }): Promise<number> => {
      const { kind, ...body } = operation;
      return (await worker.call("POST", `/executions/${kind}`, body)).status;
    };
    assert.equal(await send(lease.operation("start")), 200);
    assert.equal(await send(lease.operation("logs", { chunks: [logChunk("x")] })), 200);
    const event = { kind: "step.completed", message: "Read.", attributes: { name: "read" }, at: REPORTED_AT };
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

  test("events of a worker have times of the server's clock, in order, whatever the worker's clock says", async () => {
    for (const skewMs of [-3_600_000, 0, 3_600_000]) {
      const lease = await scene.leased();
      const worker = Date.now() + skewMs;
      const at = (ms: number): string => new Date(worker + ms).toISOString();
      const step = (ms: number): object => ({ kind: "step.completed", message: "Done.", at: at(ms) });
      const send = (...operations: object[]): Promise<unknown> => scene.worker.report(...operations);
      await send(lease.operation("start", { at: at(0) }));
      await send(lease.operation("events", { at: at(40), events: [step(1), step(30)] }));
      await send(lease.operation("events", { at: at(50), events: [step(45)] }));
      await send(lease.operation("release", { at: at(60), outcome: "succeeded" }));
      const { events } = (await scene.call("GET", `/v1/runs/${lease.runId}/events?limit=200`)).body;
      const timed = events.filter(({ kind }: { kind: string }) => /started|step/.test(kind));
      assert.deepEqual(
        timed.map(({ kind }: { kind: string }) => kind),
        ["run.started", "step.completed", "step.completed", "step.completed"],
      );
      const times = timed.map((event: { at: string }) => Date.parse(event.at));
      assert.ok(times.every((time: number, index: number) => index === 0 || time >= times[index - 1]));
      assert.ok(Math.abs(times[0] - Date.now()) < 60_000);
    }
  });

  test("a start that waited to be sent is as old as the worker says, whatever its clock", async () => {
    for (const skewMs of [-3_600_000, 3_600_000]) {
      const lease = await scene.leased();
      const at = (ms: number): string => new Date(scene.clock.now() + skewMs + ms).toISOString();
      const report = { sent_at: at(400), operations: [lease.operation("start", { at: at(0) })] };
      assert.equal((await scene.worker.call("POST", "/executions/report", report)).status, 200);
      const { started_at: startedAt } = await scene.get(lease.runId);
      assert.equal(scene.clock.now() - Date.parse(startedAt), 400);
      const started = await scene.happens(lease.runId, "run.started");
      assert.equal(started.data.at, startedAt);
      await scene.worker.finish(lease);
    }
  });

  test("cannot write the engine's own events", async () => {
    const lease = await scene.leased();
    const forged = lease.operation("events", {
      events: [{ kind: "run.succeeded", message: "Done.", at: REPORTED_AT }],
    });
    const answer = await scene.worker.call("POST", "/executions/report", { operations: [forged] });
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
    await scene.worker.report({
      ...forged,
      events: [{ kind: "step.failed", severity: "warn", message: "x", at: REPORTED_AT }],
    });
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("take a chunk of 64 KiB and a body of 4 MiB, and no more", async () => {
    const lease = await scene.leased();
    const fits = lease.operation("logs", { chunks: [logChunk("x".repeat(65_536))] });
    assert.deepEqual(await scene.worker.report(fits), [200]);
    const tooLarge = lease.operation("logs", { chunks: [logChunk("y"), logChunk("x".repeat(65_537))] });
    assert.deepEqual(await scene.worker.report(tooLarge), ["payload_too_large"]);
    const noBase64 = { ...tooLarge, chunks: [{ stream: "stdout", data: "!!!!", at: REPORTED_AT }] };
    assert.deepEqual(await scene.worker.report(noBase64), ["invalid_request"]);
    const chunks = Array.from({ length: 50 }, () => logChunk("x".repeat(65_536)));
    const many = await scene.worker.call("POST", "/executions/report", { operations: [{ ...fits, chunks }] });
    assert.deepEqual([many.status, many.body.error.code], [413, "payload_too_large"]);
    // What was refused had no effect and did not use its sequence up.
    assert.deepEqual(await scene.worker.report({ ...tooLarge, chunks: [logChunk("z")] }), [200]);
    assert.deepEqual(
      (await scene.logsOf(lease.runId)).map(({ length }) => length),
      [65_536, 1],
    );
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  });

  test("refuse a time in a leap second, which no clock here has", async () => {
    const lease = await scene.leased();
    const start = { ...lease.operation("start"), at: "2016-12-31T23:59:60Z" };
    const answer = await scene.worker.call("POST", "/executions/report", { operations: [start] });
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
  });

  test("refuse an output over 512 KiB for that operation alone", async () => {
    const [a, b] = [await scene.leased(), await scene.leased()];
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
    const lease = await scene.leased({ metadata: { count: 1, list: ["a"], text: "t", gone: 1 } });
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
