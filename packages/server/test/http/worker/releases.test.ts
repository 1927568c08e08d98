import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { logChunk, type HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

describe("releasing", () => {
  test("as failed before the code began uses an attempt up all the same", async () => {
    const lease = await scene.leased({ retry: { max_attempts: 2, initial_delay: "1s", jitter: false } });
    const outOfMemory = failure({ kind: "out_of_memory" });
    assert.deepEqual(await scene.worker.report(lease.operation("release", outOfMemory)), [200]);
    scene.clock.advance(1_000);
    const second = await scene.worker.takeOne();
    assert.deepEqual([second.runId, second.execution.run.attempt_number], [lease.runId, 2]);
    assert.deepEqual(await scene.worker.report(second.operation("release", outOfMemory)), [200]);
    const { status, attempt_number } = await scene.get(lease.runId);
    assert.deepEqual([status, attempt_number], ["failed", 2]);
  });

  test("ends the lease: its repeat is answered, what comes after it is lost", async () => {
    const lease = await scene.leased();
    const start = lease.operation("start");
    const release = lease.operation("release", { outcome: "succeeded", output: { n: 1 } });
    const logs = lease.operation("logs", { chunks: [logChunk("late")] });
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
    assert.deepEqual(await scene.logsOf(lease.runId), []);
    assert.equal((await scene.eventKinds(lease.runId)).filter((kind) => kind === "run.succeeded").length, 1);
  });

  test("as failed needs a failure", async () => {
    const lease = await scene.leased();
    const release = lease.operation("release", { outcome: "failed" });
    assert.deepEqual(await scene.worker.report(release), ["invalid_request"]);
    await scene.worker.report({ ...release, outcome: "succeeded" });
  });

  test("as rejected queues the run again without counting the attempt", async () => {
    const lease = await scene.leased({ retry: { max_attempts: 1 } });
    assert.deepEqual(await scene.worker.report(lease.operation("release", { outcome: "rejected" })), [200]);
    assert.deepEqual((await scene.get(lease.runId)).status, "queued");
    const again = await scene.worker.takeOne();
    assert.deepEqual(
      [again.runId, again.execution.run.attempt_number, again.execution.epoch],
      [lease.runId, 1, 2],
    );
    await scene.worker.finish(again);
  });

  const killed = (outcome = "rejected"): object => ({
    outcome,
    failure: { kind: "lease_lost", message: "SIGKILL from outside.", stack: null, retryable: true },
  });

  test("because infrastructure failed before the code began keeps the attempt, and delays each next try longer", async () => {
    let lease = await scene.leased({ retry: { max_attempts: 1 } });
    for (const delayMs of [0, 1_000, 2_000, 4_000]) {
      assert.deepEqual(await scene.worker.report(lease.operation("release", killed())), [200]);
      const { status, attempt_number, status_reason } = await scene.get(lease.runId);
      assert.deepEqual([status, attempt_number], ["queued", 1]);
      if (delayMs > 0) {
        assert.equal(status_reason.kind, "lease_recovery");
        assert.match(status_reason.message, /could not begin the run \d times in a row/);
        scene.clock.advance(delayMs - 1);
        assert.deepEqual((await scene.worker.lease()).executions, []);
        scene.clock.advance(1);
      }
      lease = await scene.worker.takeOne();
      assert.equal(lease.execution.run.attempt_number, 1);
    }
    const { body } = await scene.call("GET", `/v1/runs/${lease.runId}/events`);
    const lost = body.events.filter(({ kind }: { kind: string }) => kind === "lease.lost");
    assert.equal(lost.length, 4);
    assert.match(lost.at(-1).message, /SIGKILL from outside. The run is queued again in 4 s/);
    assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
    // The code began: what comes now is an attempt, and the count of tries begins anew.
    assert.deepEqual(await scene.worker.report(lease.operation("release", killed())), [200]);
    assert.equal((await scene.get(lease.runId)).status, "retry_delayed");
    scene.clock.advance(2_000);
    const next = await scene.worker.takeOne();
    assert.equal(next.execution.run.attempt_number, 2);
    assert.deepEqual(await scene.worker.report(next.operation("release", killed())), [200]);
    const again = await scene.worker.takeOne();
    assert.equal(again.execution.run.attempt_number, 2);
    await scene.worker.finish(again);
  });

  test("because infrastructure failed before the code began holds no slot of a queue meanwhile", async () => {
    const lease = await scene.leased({ queue: "narrow", concurrency_key: "one" });
    assert.deepEqual(await scene.worker.report(lease.operation("release", killed())), [200]);
    const again = await scene.worker.takeOne();
    const other = await scene.start("plain", { queue: "narrow", concurrency_key: "one" });
    assert.deepEqual(await scene.worker.report(again.operation("release", killed())), [200]);
    const next = await scene.worker.takeOne();
    assert.equal(next.runId, other.id);
    await scene.worker.finish(next);
    scene.clock.advance(1_000);
    const last = await scene.worker.takeOne();
    assert.equal(last.runId, lease.runId);
    await scene.worker.finish(last);
  });

  for (const outcome of ["rejected", "failed"]) {
    test(`as ${outcome} because infrastructure ended the attempt gives five attempts more, then fails the system`, async () => {
      let lease = await scene.leased({
        retry: { max_attempts: 1, initial_delay: "1s", factor: 1, jitter: false },
      });
      for (let attempt = 1; attempt <= 6; attempt += 1) {
        assert.equal(lease.execution.run.attempt_number, attempt);
        assert.deepEqual(
          await scene.worker.report(lease.operation("start"), lease.operation("release", killed(outcome))),
          [200, 200],
        );
        if (attempt === 6) break;
        assert.equal((await scene.get(lease.runId)).status, "retry_delayed");
        scene.clock.advance(1_000);
        lease = await scene.worker.takeOne();
      }
      const { status, attempt_number, failure } = await scene.get(lease.runId);
      assert.deepEqual([status, attempt_number, failure.kind], ["system_failed", 6, "lease_lost"]);
      assert.match(failure.message, /SIGKILL from outside.*5 more were given/);
    });
  }

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
    let lease = await scene.leased({ retry });
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
    const lease = await scene.leased({ retry: { max_attempts: 3, initial_delay: "10s" } });
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

  test("as failed cuts a retry_after beyond every clock", async () => {
    const lease = await scene.leased();
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
      const lease = await scene.leased();
      await scene.worker.finish(lease, "failed", failure(extra));
      assert.deepEqual((await scene.get(lease.runId)).status, "failed");
    });
  }
});
