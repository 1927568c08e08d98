import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { loadConfig } from "../../../src/config.ts";
import { dropEnded } from "../../../src/core/retention/drop-ended.ts";
import { sql } from "../../../src/db/sql.ts";
import { countEnded } from "../../support/count-runs.ts";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";
import { place } from "../../support/tenancy.ts";
import { until } from "../../support/until.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const MANIFEST = {
  tasks: [{ id: "plain" }, { id: "narrow", queue: "narrow" }],
  queues: [
    { name: "narrow", concurrency_limit: 1 },
    { name: "unused", concurrency_limit: 7 },
  ],
};

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());

async function activity(query = "", from = scene): Promise<Json> {
  const answer = await from.call("GET", `/api/runs/activity${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const sum = (minutes: Json[], field: string): number =>
  minutes.reduce((total, minute) => total + minute[field], 0);

/** Moves the clock over the beginning of a minute. @returns when the next sample was taken, which has `created` runs. */
async function nextSample(created: number): Promise<string> {
  scene.clock.advance(60_000);
  let at = "";
  await until(`a sample of ${created} runs`, 60_000, async () => {
    const [row] = await scene.server.db.query<{ at: number }>(
      sql`SELECT min(at) AS at FROM run_count_samples WHERE created = ${created} HAVING min(at) IS NOT NULL`,
    );
    if (row !== undefined) at = new Date(row.at).toISOString();
    return row !== undefined;
  });
  return at;
}

/** Drops all ended runs, as after a long time. */
async function dropAll(): Promise<void> {
  const day = 86_400_000;
  await countEnded(scene.server.db, scene.clock.now);
  await dropEnded({
    db: scene.server.db,
    clock: () => scene.clock.now() + 2 * day,
    retention: { ...loadConfig({}).retention, runsMs: day },
    countDropped: () => undefined,
    noteSwept: () => undefined,
    noteLoopFailure: () => undefined,
  });
}

describe("the minutes of an activity", () => {
  test("are as many as asked for, each a minute after the one before, zeros before anything has happened", async () => {
    for (const [query, count] of [
      ["", 60],
      ["?minutes=1", 1],
      ["?minutes=180", 180],
    ] as const) {
      const { at, minutes } = await activity(query);
      assert.equal(minutes.length, count);
      const times = minutes.map((minute: Json) => Date.parse(minute.at));
      const last = Math.floor(Date.parse(at) / 60_000) * 60_000;
      assert.deepEqual(
        times,
        Array.from({ length: count }, (_, index) => last - (count - 1 - index) * 60_000),
      );
      assert.equal(sum(minutes, "created"), 0);
    }
    assert.equal((await scene.call("GET", "/api/runs/activity?minutes=181")).status, 400);
  });

  test("count each run once, by when it was created and how it ended, and forget none that is dropped", async () => {
    const first = await Promise.all(Array.from({ length: 3 }, () => scene.start("plain")));
    await scene.cancel(first[0].id);
    await scene.worker.finish(await scene.worker.takeOne());
    const failing = await scene.worker.takeOne();
    await scene.worker.report(
      failing.operation("release", {
        outcome: "failed",
        failure: { kind: "application_error", message: "no", retryable: false },
      }),
    );
    const now = await activity();
    const counted = (minutes: Json[]): number[] =>
      ["created", "succeeded", "failed", "cancelled"].map((field) => sum(minutes, field));
    assert.deepEqual(counted(now.minutes), [3, 1, 1, 1]);

    const boundary = await nextSample(3);
    const second = await Promise.all(Array.from({ length: 2 }, () => scene.start("plain")));
    await scene.cancel(second[0].id);
    const { minutes } = await activity();
    assert.deepEqual(counted(minutes.filter(({ at }: Json) => at < boundary)), [3, 1, 1, 1]);
    assert.deepEqual(counted(minutes.filter(({ at }: Json) => at >= boundary)), [2, 0, 0, 1]);

    const again = await nextSample(5);
    const later = (await activity()).minutes;
    assert.deepEqual(counted(later.filter(({ at }: Json) => at < boundary)), [3, 1, 1, 1]);
    assert.deepEqual(counted(later.filter(({ at }: Json) => at >= boundary && at < again)), [2, 0, 0, 1]);

    await scene.cancelAll();
    await dropAll();
    assert.deepEqual((await scene.call("GET", "/v1/runs")).body.runs, []);
    const { counts } = (await scene.call("GET", "/api/runs/counts")).body;
    assert.deepEqual([counts.succeeded, counts.failed, counts.cancelled], [0, 0, 0]);
    assert.deepEqual(counted((await activity()).minutes), [5, 1, 1, 3]);
  });

  test("are the environment's own, for a user who says which as for its key", async () => {
    const production = await productionOf(scene);
    assert.equal(sum((await activity("", production)).minutes, "created"), 0);
    const { user_token: as } = scene.server.credentials;
    const query = new URLSearchParams({ ...place(scene.server), minutes: "5" }).toString();
    const byUser = await scene.call("GET", `/api/runs/activity?${query}`, { as });
    assert.deepEqual([byUser.status, byUser.body.minutes.length], [200, 5]);
    assert.ok(sum((await activity()).minutes, "created") > 0);
  });
});

describe("queues and stuck runs", () => {
  test("say how many wait, since when, and what for", async () => {
    const plain = await scene.start("plain");
    await scene.start("plain", { delay: "1h" });
    const running = await scene.worker.takeOne();
    assert.equal(running.runId, plain.id);
    await scene.worker.report(running.operation("start"));
    const holding = await scene.start("narrow");
    const held = await scene.start("narrow");
    const { queues, queues_complete, stuck } = await activity();
    assert.equal(queues_complete, true);
    const counts = Object.fromEntries(
      queues.map((queue: Json) => [
        queue.queue,
        [queue.queued, queue.delayed, queue.running, queue.waiting, queue.concurrency_limit],
      ]),
    );
    assert.deepEqual(counts, {
      narrow: [2, 0, 0, 0, 1],
      [plain.queue]: [0, 1, 1, 0, null],
      unused: [0, 0, 0, 0, 7],
    });
    assert.equal(queues[0].queue, "narrow");
    assert.equal(queues[0].oldest_queued_at, stuck[0].queued_at);
    assert.deepEqual(
      stuck.map((run: Json) => [run.id, run.task, run.status, run.status_reason.kind]),
      [
        [holding.id, "narrow", "queued", "worker_busy"],
        [held.id, "narrow", "queued", "queue_limit"],
      ],
    );
    for (const run of stuck) assert.deepEqual(run.status_reason, (await scene.get(run.id)).status_reason);
    await scene.cancelAll();
    assert.deepEqual((await activity()).stuck, []);
  });

  test("are at most ten, those that wait for longest", async () => {
    const runs: Json[] = [];
    for (let index = 0; index < 12; index += 1) runs.push(await scene.start("plain"));
    const { stuck } = await activity();
    assert.deepEqual(
      stuck.map((run: Json) => run.id),
      runs.slice(0, 10).map(({ id }) => id),
    );
    await scene.cancelAll();
  });
});

test("an environment with more queues than are shown says so", async () => {
  const starts = Array.from({ length: 101 }, (_, index) => ({ task: "plain", queue: `queue-${index}` }));
  const started = await scene.call("POST", "/v1/tasks/start-batch", { body: { starts } });
  assert.deepEqual(new Set(started.body.results.map(({ status }: Json) => status)), new Set([201]));
  const { queues, queues_complete } = await activity();
  assert.deepEqual([queues.length, queues_complete], [100, false]);
  await scene.cancelAll();
});

test("workers are counted with the slots that are free, without a name or an id", async () => {
  const before = (await activity()).workers;
  await scene.start("plain");
  const lease = await scene.worker.takeOne();
  await scene.worker.report(lease.operation("start"));
  const { workers } = await activity();
  assert.deepEqual(workers, { ...before, free_slots: before.free_slots - 1 });
  assert.deepEqual(Object.keys(workers).toSorted(), ["draining", "free_slots", "lost", "online", "slots"]);
  assert.ok(workers.online >= 1 && workers.slots >= workers.online);
  await scene.worker.finish(lease);
});
