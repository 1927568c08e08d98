import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { systemClock } from "../../../src/clock.ts";
import { renewLeases } from "../../../src/core/executions/renewal-writes.ts";
import { sql } from "../../../src/db/sql.ts";
import { timestamp } from "../../../src/db/timestamp.ts";
import { until } from "../../support/until.ts";
import { asAdmin } from "../../support/audit.ts";
import { outlastLeases } from "../../support/outlast-leases.ts";
import { enrollWorker, logChunk, type HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

describe("leasing", () => {
  test("is over for a draining worker when its last run ends, and it is drained without a heartbeat", async () => {
    const worker = await enrollWorker(scene.server);
    const lease = await scene.leased({}, worker);
    const path = `workers/${worker.id}`;
    const admin = asAdmin(scene.server);
    assert.equal((await admin("POST", `${path}/drain`)).body.status, "draining");
    await worker.finish(lease);
    await until("it is drained", 10_000, async () => (await admin("GET", path)).body.status === "drained");
  });

  test("answers empty when its wait is over", async () => {
    const begin = systemClock();
    const { executions, cancellations, deployment_checks } = await scene.worker.lease({ wait: "250ms" });
    assert.deepEqual([executions, cancellations, deployment_checks], [[], [], []]);
    assert.ok(systemClock() - begin >= 240, "it did not wait");
  });

  test("refuses a wait over 60s and a limit over 500", async () => {
    const ask = (extra: object) =>
      scene.worker.call("POST", "/executions/lease", { lease_request_id: "x", limit: 1, ...extra });
    assert.deepEqual((await ask({ wait: "61s" })).body.error.details.issues[0].path, "wait");
    assert.deepEqual((await ask({ limit: 501 })).body.error.details.issues[0].path, "limit");
  });

  test("gives the whole execution", async () => {
    const lease = await scene.leased({
      payload: { a: [1] },
      metadata: { m: 1 },
      tags: ["t"],
      max_duration: "90s",
    });
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
    const { secrets, journal, waits, active, park_after: parkAfter, session } = execution;
    assert.deepEqual([secrets, journal, waits, active, parkAfter, session], [{}, [], [], "0ms", "30s", null]);
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
    const lease = await scene.leased({}, other);
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
    const lease = await scene.leased({}, worker);
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

describe("a lost lease", () => {
  const lose = async (lease: HeldLease): Promise<void> => {
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
  };

  test("before the start keeps the attempt, after it costs one, and the last extra one fails the system", async () => {
    const lease = await scene.leased({ retry: { max_attempts: 2 } });
    await lose(lease);
    await scene.worker.call("POST", "/heartbeat", {});
    const recovering = await scene.get(lease.runId);
    assert.deepEqual([recovering.status, recovering.status_reason.kind], ["queued", "lease_recovery"]);
    const second = await scene.worker.takeOne();
    assert.deepEqual([second.execution.run.attempt_number, second.execution.epoch], [1, 2]);
    assert.deepEqual(await scene.worker.report(second.operation("start")), [200]);
    await outlastLeases(scene);
    const third = await scene.worker.takeOne();
    assert.deepEqual(
      [third.runId, third.execution.run.attempt_number, third.execution.epoch],
      [lease.runId, 2, 3],
    );
    let last = third;
    for (let attempt = 3; attempt <= 7; attempt += 1) {
      assert.deepEqual(await scene.worker.report(last.operation("start")), [200]);
      await outlastLeases(scene);
      last = await scene.worker.takeOne();
      assert.deepEqual([last.runId, last.execution.run.attempt_number], [lease.runId, attempt]);
    }
    assert.deepEqual(await scene.worker.report(last.operation("start")), [200]);
    await outlastLeases(scene);
    await scene.happens(lease.runId, "run.system_failed");
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.attempt_number, run.failure.kind], ["system_failed", 7, "lease_lost"]);
    assert.match(run.failure.message, /did not renew its lease.*max_attempts is 2, and 5 more/);
    assert.deepEqual(await scene.worker.report(last.operation("release", { outcome: "succeeded" })), [
      "lease_lost",
    ]);
  });

  test("is refused to the one who lost it and leaves the next holder alone", async () => {
    const lease = await scene.leased();
    const start = lease.operation("start");
    assert.deepEqual(await scene.worker.report(start), [200]);
    await lose(lease);
    const late = [
      lease.operation("logs", { chunks: [logChunk("late")] }),
      lease.operation("release", { outcome: "succeeded" }),
    ];
    assert.deepEqual(await scene.worker.report(...late), ["lease_lost", "lease_lost"]);
    assert.deepEqual((await scene.worker.renew(lease)).lost, [lease.fields.lease_id]);
    const next = await scene.worker.takeOne();
    assert.equal(next.runId, lease.runId);
    assert.deepEqual(await scene.worker.report(start, ...late), ["lease_lost", "lease_lost", "lease_lost"]);
    await scene.worker.finish(next, "succeeded", { output: "second" });
    assert.equal((await scene.get(lease.runId)).output, "second");
    assert.deepEqual(await scene.logsOf(lease.runId), []);
  });

  test("may still be written as long as nobody has taken it over: time alone loses nothing", async () => {
    const lease = await scene.leased();
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
    const lease = await scene.leased();
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

  test("of a lease that had ended unnoticed moves when the attempt is overruled by as much", async () => {
    const lease = await scene.leased({ max_duration: "1h" });
    assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
    const runId = decodeId("run", lease.runId) as Uuid<"run">;
    const now = scene.clock.now();
    const SLEPT_MS = 1_800_000;
    // In one transaction, so that no sweep sees it.
    const moved = await scene.server.db.transaction(async (tx) => {
      const [before] = await tx.query<{ at: number; environmentId: Uuid<"env">; workerId: Uuid<"wkr"> }>(sql`
        UPDATE executions SET lease_expires_at = ${timestamp(now - SLEPT_MS)} WHERE run_id = ${runId}
        RETURNING deadline_at AS at, environment_id, worker_id`);
      assert.ok(before);
      const { environmentId, workerId } = before;
      const leaseId = decodeId("lease", lease.fields.lease_id) as Uuid<"lease">;
      const held = [{ environmentId, runId, leaseId, epoch: lease.fields.epoch }];
      const renewed = await renewLeases(tx, workerId, held, { now, expiresAt: now + 15_000 });
      assert.equal(renewed.length, 1);
      const [after] = await tx.query<{ at: number }>(
        sql`SELECT deadline_at AS at FROM executions WHERE run_id = ${runId}`,
      );
      return (after?.at ?? 0) - before.at;
    });
    assert.equal(moved, SLEPT_MS);
    await scene.worker.finish(lease);
  });

  test("tells of runs to cancel", async () => {
    const lease = await scene.leased();
    assert.equal((await scene.cancel(lease.runId)).body.status, "cancel_requested");
    const { lease_id, run_id, epoch } = lease.fields;
    const told = [{ lease_id, run_id, epoch }];
    assert.deepEqual((await scene.worker.renew(lease)).cancellations, told);
    assert.deepEqual((await scene.worker.lease({ limit: 0, wait: "5s" })).cancellations, told);
    await scene.worker.finish(lease, "cancelled");
    assert.equal((await scene.get(lease.runId)).status, "cancelled");
  });

  test("does not extend max_duration: the sweep ends an attempt that its worker does not end", async () => {
    const lease = await scene.leased({
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
    const lease = await scene.leased();
    const waiting = scene.worker.lease({ limit: 0, wait: "20s" });
    await scene.cancel(lease.runId);
    const { cancellations } = await waiting;
    assert.deepEqual(cancellations, [
      { run_id: lease.runId, lease_id: lease.fields.lease_id, epoch: lease.fields.epoch },
    ]);
    // What the code was doing may still be reported.
    assert.deepEqual(
      await scene.worker.report(lease.operation("logs", { chunks: [logChunk("stopping")] })),
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
    const lease = await scene.leased();
    await scene.cancel(lease.runId);
    await scene.worker.finish(lease, "succeeded", { output: 1 });
    const run = await scene.get(lease.runId);
    assert.deepEqual([run.status, run.output], ["cancelled", null]);
  });

  test("ends it without its worker when that does not answer in time", async () => {
    const lease = await scene.leased();
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
