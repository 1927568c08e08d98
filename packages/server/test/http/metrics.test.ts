import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { rawSql, sql } from "../../src/db/sql.ts";
import type { ApiServer } from "../support/api-server.ts";
import { outlastLeases } from "../support/outlast-leases.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { readMetrics, type ReadMetrics } from "../support/read-metrics.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { until } from "../support/until.ts";

const ENDED = "keelson_runs_ended_total";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({
    tasks: [{ id: "plain" }, { id: "tick" }],
    schedules: [{ id: "tick", task: "tick", cron: "0 0 1 1 *", timezone: "UTC" }],
  });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

async function metricsOf({ call }: Pick<ApiServer, "call">): Promise<ReadMetrics> {
  const answer = await call("GET", "/metrics", { as: null });
  assert.equal(answer.status, 200, answer.text);
  return readMetrics(answer.text);
}

/** How much a value has grown since `earlier`. */
const growth =
  (earlier: ReadMetrics, later: ReadMetrics) =>
  (name: string, labels?: Record<string, string>): number =>
    (later.valueOf(name, labels) ?? 0) - (earlier.valueOf(name, labels) ?? 0);

const failure = (retryable: boolean) => ({
  outcome: "failed",
  failure: { kind: "application_error", message: "boom", retryable },
});

describe("an ended run", () => {
  test("is counted once by its labels, however often its end is reported", async () => {
    const earlier = await metricsOf(scene.server);
    const run = await scene.start("plain", { queue: "counted" });
    scene.clock.advance(2_000);
    const lease = await scene.worker.takeOne();
    const start = lease.operation("start");
    assert.deepEqual(await scene.worker.report(start), [200]);
    scene.clock.advance(3_000);
    const release = lease.operation("release", { outcome: "succeeded" });
    for (let time = 0; time < 3; time += 1)
      assert.deepEqual(await scene.worker.report(start, release), [200, 200]);
    const grown = growth(earlier, await metricsOf(scene.server));
    const labels = {
      environment: run.environment_id,
      kind: "task",
      entrypoint: "plain",
      queue: "counted",
      status: "succeeded",
    };
    assert.equal(grown(ENDED, labels), 1);
    assert.equal(grown(ENDED), 1);
    const place = { environment: run.environment_id };
    assert.equal(grown("keelson_run_queue_seconds_sum", place), 2);
    assert.equal(grown("keelson_run_queue_seconds_bucket", { ...place, le: "1" }), 0);
    assert.equal(grown("keelson_run_queue_seconds_bucket", { ...place, le: "2.5" }), 1);
    assert.equal(grown("keelson_run_duration_seconds_sum", { ...place, kind: "task" }), 3);
    assert.equal(grown("keelson_run_duration_seconds_count"), 1);
  });

  test("has its labels also when no worker ever had it", async () => {
    const earlier = await metricsOf(scene.server);
    const { id } = await scene.start("plain", { queue: "cancelled" });
    assert.equal((await scene.cancel(id)).status, 200);
    const grown = growth(earlier, await metricsOf(scene.server));
    assert.equal(grown(ENDED, { entrypoint: "plain", queue: "cancelled", status: "cancelled" }), 1);
    assert.equal(grown("keelson_run_duration_seconds_count"), 0);
  });

  test("is counted by the server that committed its end, and by no other", async () => {
    const replica = await scene.server.startReplica();
    try {
      const earlier = await metricsOf(scene.server);
      const lease = await scene.leased({ queue: "moved" });
      const operations = [lease.operation("start"), lease.operation("release", { outcome: "succeeded" })];
      const answer = await replica.call("POST", "/worker/v1/executions/report", {
        as: scene.worker.token,
        body: { operations },
      });
      assert.equal(answer.status, 200, answer.text);
      const there = await metricsOf(replica);
      assert.equal(there.valueOf(ENDED, { entrypoint: "plain", queue: "moved", status: "succeeded" }), 1);
      assert.equal(there.valueOf("keelson_run_queue_seconds_count"), 1);
      assert.equal(growth(earlier, await metricsOf(scene.server))(ENDED), 0);
    } finally {
      await replica.stop();
    }
  });
});

describe("an attempt", () => {
  const begun = async (body: object): Promise<HeldLease> => {
    const lease = await scene.leased(body);
    assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
    return lease;
  };

  test("that fails and is followed by another is counted by its failure", async () => {
    const earlier = await metricsOf(scene.server);
    const lease = await begun({ retry: { max_attempts: 2, initial_delay: "1h", jitter: false } });
    assert.deepEqual(await scene.worker.report(lease.operation("release", failure(true))), [200]);
    const final = await begun({});
    assert.deepEqual(await scene.worker.report(final.operation("release", failure(false))), [200]);
    const grown = growth(earlier, await metricsOf(scene.server));
    assert.equal(grown("keelson_attempts_retried_total", { failure: "application_error" }), 1);
    assert.equal(grown("keelson_attempts_retried_total"), 1);
    assert.equal(grown(ENDED, { status: "failed" }), 1);
    assert.equal(grown("keelson_leases_lost_total"), 0);
  });

  test("whose lease is lost is counted by the cause, and whether its code had begun", async () => {
    const earlier = await metricsOf(scene.server);
    const given = await begun({});
    assert.deepEqual(
      await scene.worker.report(
        given.operation("release", {
          outcome: "rejected",
          failure: { kind: "lease_lost", message: "The process was killed.", retryable: true },
        }),
      ),
      [200],
    );
    await scene.cancelAll();
    await scene.leased();
    await outlastLeases(scene);
    const lost = async () => growth(earlier, await metricsOf(scene.server));
    const name = "keelson_leases_lost_total";
    await until("the lease is taken back", 60_000, async () => (await lost())(name) === 2);
    const grown = await lost();
    assert.equal(grown(name, { cause: "worker", begun: "true" }), 1);
    assert.equal(grown(name, { cause: "not_renewed", begun: "false" }), 1);
  });

  test("has its steps and waits counted once", async () => {
    const earlier = await metricsOf(scene.server);
    const lease = await begun({});
    const entries = [
      { position: 1, kind: "step", name: "good", value: 1 },
      {
        position: 2,
        kind: "step",
        name: "bad",
        error: { name: "Error", message: "boom", stack: null, code: null },
      },
    ];
    const steps = lease.operation("steps", { entries });
    const at = new Date(scene.clock.now()).toISOString();
    const tried = (kind: string, duration_ms: unknown) => ({
      kind,
      at,
      message: kind,
      attributes: { duration_ms },
    });
    const events = lease.operation("events", {
      events: [
        tried("step.completed", 250),
        tried("step.failed", 2_000),
        tried("step.failed", 40),
        tried("step.completed", "long"),
        tried("step.completed", -1),
      ],
    });
    const timer = { position: 3, name: "timer", kind: "timer", timeout: "5s" };
    const waits = lease.operation("waits", { waits: [timer], parked: true });
    for (let time = 0; time < 2; time += 1)
      assert.deepEqual(await scene.worker.report(steps, events, waits), [200, 200, 200]);
    scene.clock.advance(6_000);
    const counted = async () => growth(earlier, await metricsOf(scene.server));
    const name = "keelson_wait_duration_seconds";
    await until("the wait settles", 60_000, async () => (await counted())(`${name}_count`) === 1);
    const grown = await counted();
    assert.equal(grown(`${name}_sum`, { kind: "timer" }), 6);
    assert.equal(grown("keelson_steps_total", { outcome: "succeeded" }), 1);
    assert.equal(grown("keelson_steps_total", { outcome: "failed" }), 1);
    const took = "keelson_step_duration_seconds";
    assert.equal(grown(`${took}_sum`, { outcome: "succeeded" }), 0.25);
    assert.equal(grown(`${took}_count`, { outcome: "failed" }), 2);
    assert.equal(grown(`${took}_sum`, { outcome: "failed" }), 2.04);
  });
});

describe("labels that users choose", () => {
  test("are kept apart for a thousand sets, and counted together beyond", async () => {
    const sets = 1_001;
    const replica = await scene.server.startReplica();
    try {
      const runs: { id: string }[] = [];
      for (let from = 0; from < sets; from += 50)
        runs.push(
          ...(await Promise.all(
            Array.from({ length: Math.min(50, sets - from) }, (_, index) =>
              scene.start("plain", { queue: `queue-${from + index}` }),
            ),
          )),
        );
      for (const { id } of runs)
        assert.equal((await replica.call("POST", `/v1/runs/${id}/cancel`)).status, 200);
      const metrics = await metricsOf(replica);
      assert.equal(metrics.valueOf(ENDED), sets);
      const other = { environment: "other", kind: "other", entrypoint: "other", queue: "other" };
      assert.equal(metrics.valueOf(ENDED, { ...other, status: "cancelled" }), 1);
      const queues = new Set(metrics.labelsOf(ENDED).map(({ queue }) => queue));
      assert.equal(queues.size, sets);
    } finally {
      await replica.stop();
    }
  });
});

describe("what is read for a scrape", () => {
  /** A server that has read nothing yet. */
  const onReplica = async (work: (replica: Pick<ApiServer, "call">) => Promise<void>): Promise<void> => {
    const replica = await scene.server.startReplica();
    try {
      await work(replica);
    } finally {
      await replica.stop();
    }
  };

  test("says how many runs are queued and running, how old the oldest is, and how many workers there are", async () => {
    await scene.leased();
    await scene.start("plain");
    await scene.start("plain", { start_at: new Date(scene.clock.now() + 3_600_000).toISOString() });
    await onReplica(async (replica) => {
      const metrics = await metricsOf(replica);
      assert.equal(metrics.valueOf("keelson_runs", { status: "queued" }), 2);
      assert.equal(metrics.valueOf("keelson_runs", { status: "running" }), 1);
      assert.equal(metrics.valueOf("keelson_runs", { status: "waiting" }), 0);
      assert.equal(metrics.valueOf("keelson_runs_ready"), 1);
      assert.ok(metrics.valueOf("keelson_oldest_ready_run_seconds") !== undefined);
      assert.ok((metrics.valueOf("keelson_workers") ?? 0) >= 1);
      assert.equal(metrics.valueOf("keelson_tokens_open"), 0);
      assert.ok((metrics.valueOf("keelson_database_size_bytes") ?? 0) > 1_000_000);
      assert.equal(metrics.valueOf("keelson_indexes_to_build"), 0);
      assert.equal(metrics.valueOf("keelson_metrics_read_failures_total"), 0);
    });
  });

  test("says how much is in the blob store, by what it is, and adds it up once in five minutes", async () => {
    const store = (bytes: number) =>
      scene.server.db.query(sql`
        INSERT INTO blobs (environment_id, digest, size_bytes, touched_at)
        VALUES (gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), ${bytes}, now())`);
    await onReplica(async (replica) => {
      const pieces = async (): Promise<number | undefined> =>
        (await metricsOf(replica)).valueOf("keelson_blob_bytes", { kind: "piece" });
      await store(1_000_000);
      const first = await pieces();
      assert.ok((first ?? 0) >= 1_000_000);
      const bundles = (await metricsOf(replica)).valueOf("keelson_blob_bytes", { kind: "bundle" });
      assert.ok((bundles ?? 0) > 0);
      await store(1_000_000);
      assert.equal(await pieces(), first);
    });
  });

  test("says how old the oldest snapshot is that somebody holds", async () => {
    await scene.server.db.transaction(
      async (tx) => {
        await tx.query(rawSql("SELECT count(*) FROM runs"));
        const heldSeconds = async (): Promise<number> => {
          const [held] = await tx.query<{ seconds: number }>(
            rawSql("SELECT extract(epoch FROM clock_timestamp() - now())::float8 AS seconds"),
          );
          return held?.seconds ?? 0;
        };
        // Of a younger one nothing is said while a session is being opened, which might be another user's.
        await until("the snapshot is a second old", 60_000, async () => (await heldSeconds()) > 1);
        const held = await heldSeconds();
        await onReplica(async (replica) => {
          const metrics = await metricsOf(replica);
          const seconds = metrics.valueOf("keelson_oldest_snapshot_seconds") ?? 0;
          assert.ok(seconds >= held, `${seconds}`);
          assert.ok(metrics.valueOf("keelson_oldest_snapshot_transactions") !== undefined);
        });
      },
      { isolation: "repeatable read" },
    );
  });

  test("is left out and counted when it fails, and is there again when it works", async () => {
    const rename = (from: string, to: string) =>
      scene.server.db.query(rawSql(`ALTER TABLE tokens RENAME COLUMN ${from} TO ${to}`));
    await onReplica(async (replica) => {
      await rename("status", "renamed");
      try {
        const metrics = await metricsOf(replica);
        assert.equal(metrics.names.has("keelson_tokens_open"), false);
        assert.equal(metrics.valueOf("keelson_metrics_read_failures_total", { reading: "open_tokens" }), 1);
        assert.equal(metrics.valueOf("keelson_metrics_read_failures_total"), 1);
        assert.ok(metrics.valueOf("keelson_runs") !== undefined);
      } finally {
        await rename("renamed", "status");
      }
      assert.equal((await metricsOf(replica)).valueOf("keelson_tokens_open"), 0);
    });
  });

  test("is left out and counted when it takes too long", async () => {
    await onReplica(async (replica) => {
      await scene.server.db.transaction(async (tx) => {
        await tx.query(rawSql("LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE"));
        const metrics = await metricsOf(replica);
        assert.equal(metrics.names.has("keelson_tokens_open"), false);
        assert.equal(metrics.valueOf("keelson_metrics_read_failures_total", { reading: "open_tokens" }), 1);
        assert.ok(metrics.valueOf("keelson_database_size_bytes") !== undefined);
      });
      await until("the reading is done", 60_000, async () =>
        (await metricsOf(replica)).names.has("keelson_tokens_open"),
      );
    });
  });
});

describe("background work", () => {
  test("counts the rounds of loops, with their time", async () => {
    const LOOK = { loop: "look-for-due" };
    const rounds = async () =>
      (await metricsOf(scene.server)).valueOf("keelson_loop_rounds_total", LOOK) ?? 0;
    // The lock of an earlier test may have made one of them fail.
    const failures = (await metricsOf(scene.server)).valueOf("keelson_loop_round_failures_total", LOOK);
    const before = await rounds();
    await until("the loop has had another round", 60_000, async () => (await rounds()) > before);
    const metrics = await metricsOf(scene.server);
    assert.ok((metrics.valueOf("keelson_loop_seconds_total", LOOK) ?? 0) > 0);
    assert.equal(metrics.valueOf("keelson_loop_round_failures_total", LOOK), failures);
  });

  test("counts occurrences of schedules that started a run late, and those that were missed", async () => {
    const earlier = await metricsOf(scene.server);
    const { schedules } = (await scene.call("GET", "/v1/schedules")).body;
    const due = Date.parse(schedules[0].next_run_at);
    // Two years are due at once: the older is missed. It is the last test, because credentials of workers end meanwhile.
    scene.clock.advance(due - scene.clock.now() + 366 * 86_400_000 + 2_000);
    const fired = async () => growth(earlier, await metricsOf(scene.server));
    const name = "keelson_schedules_fired_total";
    await until("the schedule has fired", 60_000, async () => (await fired())(name) === 1);
    const grown = await fired();
    assert.equal(grown("keelson_schedules_skipped_total", { reason: "missed" }), 1);
    assert.equal(grown("keelson_schedule_lateness_seconds_count"), 1);
  });
});
