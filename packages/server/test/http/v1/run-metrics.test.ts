// Metrics of runs over time: what ended when, how long it took, and how the environment was.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sampleRunGauges } from "../../../src/core/run-rollups/sample-run-gauges.ts";
import { countEnded } from "../../support/count-runs.ts";
import { failRun } from "../../support/failed-run.ts";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let scene: RunScene;
before(async () => {
  scene = await startRunScene(
    { tasks: [{ id: "plain" }, { id: "other" }, { id: "idle" }], actors: [{ id: "chat" }] },
    { config: { leaseDurationMs: 300_000 } },
  );
});
after(() => scene.stop());

async function metrics(query = "", from = scene): Promise<Json> {
  await countEnded(scene.server.db, scene.clock.now);
  const answer = await from.call("GET", `/v1/runs/metrics${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}
async function entrypoints(query = "", from = scene): Promise<Json> {
  await countEnded(scene.server.db, scene.clock.now);
  const answer = await from.call("GET", `/v1/runs/metrics/entrypoints${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

/** Starts a run, which is queued for a time and then runs for a time. @returns its id. */
async function runFor(task: string, queuedMs: number, runningMs: number): Promise<string> {
  const { id } = await scene.start(task);
  scene.clock.advance(queuedMs);
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, id);
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  scene.clock.advance(runningMs);
  assert.deepEqual(await scene.worker.report(lease.operation("release", { outcome: "succeeded" })), [200]);
  return id;
}

const near = (value: number, wanted: number): boolean => Math.abs(value - wanted) <= wanted * 0.05 + 1;
const nonEmpty = (buckets: Json[]): Json[] => buckets.filter(({ ended }) => ended > 0);

describe("an environment without runs", () => {
  test("has zeros, and no rates or times, in every window", async () => {
    for (const [window, count, bucketMs] of [
      ["1h", 60, MINUTE_MS],
      ["7d", 168, HOUR_MS],
      ["30d", 180, 4 * HOUR_MS],
    ] as const) {
      const body = await metrics(`?window=${window}`);
      assert.equal(body.buckets.length, count);
      assert.equal(body.bucket_ms, bucketMs);
      assert.equal(body.gauges.length, count);
      const { ended, failure_rate: rate, queue_time_ms: queued, duration_ms: lasted } = body.total;
      assert.deepEqual([ended, rate, queued, lasted], [0, null, null, null]);
      assert.equal(body.buckets[0].at, body.since);
      assert.equal(body.history_complete, true);
    }
    const { window, buckets } = await metrics();
    assert.equal(window, "24h");
    assert.ok(buckets.length > 92 && buckets.length <= 96);
    const list = await entrypoints();
    assert.deepEqual(
      list.entrypoints.map(({ task, actor, ended, last_run: last }: Json) => [task ?? actor, ended, last]),
      [
        ["chat", 0, null],
        ["idle", 0, null],
        ["other", 0, null],
        ["plain", 0, null],
      ],
    );
  });
});

describe("runs", () => {
  test("count by when they ended, with how long they were queued and ran", async () => {
    await runFor("plain", 2_000, 40_000);
    const first = await metrics("?window=1h");
    assert.equal(first.total.ended, 1);
    assert.ok(near(first.total.queue_time_ms.p50, 2_000) && near(first.total.duration_ms.p99, 40_000));
    scene.clock.advance(2 * MINUTE_MS);
    await runFor("plain", 100, 1_000);
    await failRun(scene, "other", { message: "no" });
    await scene.cancel((await scene.start("plain")).id);
    const { total, buckets } = await metrics("?window=1h");
    assert.deepEqual(
      [total.ended, total.succeeded, total.failed, total.cancelled, total.expired, total.system_failed],
      [4, 2, 1, 1, 0, 0],
    );
    assert.ok(near(total.failure_rate, 1 / 3) && total.failure_rate < 0.34);
    assert.equal(nonEmpty(buckets).length, 2);
    assert.equal(nonEmpty(buckets)[0].duration_ms.p50, first.total.duration_ms.p50);
    for (const window of ["24h", "7d", "30d"])
      assert.deepEqual((await metrics(`?window=${window}`)).total, total);
  });

  test("of one task or actor are asked for by its name, on both families", async () => {
    const plain = await metrics("?task=plain");
    assert.deepEqual([plain.task, plain.total.ended, plain.total.failed], ["plain", 3, 0]);
    assert.equal(plain.gauges, null);
    const other = await scene.call("GET", "/api/runs/metrics?task=other");
    assert.deepEqual([other.body.total.ended, other.body.total.failure_rate], [1, 1]);
    assert.equal((await metrics("?actor=plain")).total.ended, 0);
    assert.equal((await metrics("?task=unheard-of")).total.ended, 0);
  });

  test("are listed by task and actor, with the newest run of each", async () => {
    const live = await scene.start("idle");
    const { entrypoints: found, entrypoints_complete: isComplete } = await entrypoints();
    assert.deepEqual(
      found.map(({ task, actor, ended }: Json) => [task ?? actor, ended]),
      [
        ["plain", 3],
        ["other", 1],
        ["chat", 0],
        ["idle", 0],
      ],
    );
    assert.equal(isComplete, true);
    const [plain, other, , idle] = found;
    assert.deepEqual([plain.last_run.status, other.last_run.status], ["cancelled", "failed"]);
    assert.deepEqual([idle.last_run.id, idle.last_run.status], [live.id, "queued"]);
    assert.deepEqual(plain.duration_ms, (await metrics("?task=plain")).total.duration_ms);
    const actors = await entrypoints("?kind=actor&window=1h");
    assert.deepEqual(
      actors.entrypoints.map(({ actor }: Json) => actor),
      ["chat"],
    );
    await scene.cancelAll();
  });

  test("are the environment's own", async () => {
    const production = await productionOf(scene);
    assert.equal((await metrics("", production)).total.ended, 0);
    assert.deepEqual((await entrypoints("", production)).entrypoints, []);
  });
});

describe("samples", () => {
  const sample = (): Promise<void> =>
    scene.server.db.transaction((tx) => sampleRunGauges(tx, scene.clock.now(), 1));
  const lastOf = async (): Promise<Json> => (await metrics("?window=1h")).gauges.at(-1);

  test("have the greatest and the last of a minute: queues, waiting, tokens and slots", async () => {
    await scene.worker.renewToken();
    scene.clock.advance(MINUTE_MS - (scene.clock.now() % MINUTE_MS));
    const runs = [await scene.start("plain"), await scene.start("plain"), await scene.start("plain")];
    await scene.call("POST", "/v1/tokens", { body: {} });
    scene.clock.advance(5_000);
    await sample();
    const first = await lastOf();
    assert.deepEqual(
      [first.queued, first.pending_tokens],
      [
        { max: 3, last: 3 },
        { max: 1, last: 1 },
      ],
    );
    assert.ok(first.oldest_queued_ms.max >= 5_000 && first.oldest_queued_ms.max < 6_000);
    await scene.worker.takeOne();
    await scene.cancel(runs[2].id);
    scene.clock.advance(2_000);
    await sample();
    const second = await lastOf();
    assert.deepEqual(second.queued, { max: 3, last: 1 });
    assert.ok(second.worker_slots.last > 0 && second.used_worker_slots.last >= 1);
    // Another server that wants to sample at the same moment leaves it.
    await scene.cancelAll();
    await sample();
    assert.deepEqual((await lastOf()).queued, { max: 3, last: 1 });
    const hour = (await metrics("?window=7d")).gauges.at(-1);
    assert.deepEqual(hour.queued.max, 3);
    const { gauges } = await metrics("?window=1h", await productionOf(scene));
    assert.ok(gauges.every(({ worker_slots: slots, queued }: Json) => slots === null && queued.max === 0));
  });
});

test("runs leave the window when they are old", async () => {
  const before = (await metrics("?window=24h")).total.ended;
  scene.clock.advance(2 * HOUR_MS);
  assert.equal((await metrics("?window=1h")).total.ended, 0);
  assert.equal((await metrics("?window=24h")).total.ended, before);
  scene.clock.advance(24 * HOUR_MS);
  assert.equal((await metrics("?window=24h")).total.ended, 0);
  assert.equal((await metrics("?window=7d")).total.ended, before);
});

test("what cannot be asked for is refused with a reason", async () => {
  for (const query of ["window=2h", "window=", "task=a&actor=b", "kind=session", "task=", "since=1"]) {
    const answer = await scene.call("GET", `/v1/runs/metrics?${query}`);
    assert.equal(answer.status, 400, query);
    assert.ok(answer.body.error.message.length > 10, query);
  }
  assert.equal((await scene.call("GET", "/v1/runs/metrics/entrypoints?kind=session")).status, 400);
});
