import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { loadConfig } from "../../src/config.ts";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import type { RetentionPolicy } from "../../src/core/retention/retention.ts";
import { takeRetentionLock } from "../../src/core/retention/retention-reads.ts";
import { sql } from "../../src/db/sql.ts";
import { checkInvariants } from "../crash/support/invariants.ts";
import { openDrops, type Drops } from "../support/drop-in.ts";
import { NEVER_DROPPED } from "../support/never-dropped.ts";
import { until } from "../support/until.ts";
import { readEvents } from "../support/read-events.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { emit, startSession } from "../support/session-scene.ts";

const DAY_MS = 86_400_000;

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** A run that has said two lines, noted something, and succeeded. */
async function finishOne(scene: RunScene): Promise<Json> {
  const run = await scene.start("work", { payload: { n: 1 } });
  const lease = await scene.worker.takeOne();
  const chunk = {
    stream: "stdout",
    data: Buffer.from("said\n").toString("base64"),
    at: "2026-11-20T09:15:00.123Z",
  };
  await scene.worker.report(
    lease.operation("start"),
    lease.operation("logs", { chunks: [chunk, chunk] }),
    // An event that its rows do not imply.
    lease.operation("metadata", { changes: [{ op: "set", key: "noted", value: true }] }),
  );
  await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  return run;
}

describe("what was kept long enough", () => {
  let scene: RunScene;
  let drops: Drops;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "work" }], actors: [{ id: "chat" }] });
  });
  after(() => scene.stop());
  beforeEach(async () => {
    await scene.cancelAll();
    drops = openDrops(scene);
  });

  const dropIn: Drops["dropIn"] = (days, policy) => drops.dropIn(days, policy);
  const status = async (path: string): Promise<number> => (await scene.call("GET", path)).status;
  const finished = (): Promise<Json> => finishOne(scene);
  const counts = async (): Promise<Json> => (await scene.call("GET", "/api/runs/counts")).body.counts;
  const rowsOf = async (runId: string): Promise<number> => {
    const id = decodeId("run", runId);
    const [row] = await scene.server.db.query<{ count: number }>(sql`
      SELECT (SELECT count(*) FROM runs WHERE id = ${id}) + (SELECT count(*) FROM run_results WHERE run_id = ${id})
        + (SELECT count(*) FROM run_events WHERE run_id = ${id}) + (SELECT count(*) FROM run_logs WHERE run_id = ${id})
        + (SELECT count(*) FROM run_usage WHERE run_id = ${id})
        + (SELECT count(*) FROM run_continuations WHERE run_id = ${id}) AS count`);
    return row?.count ?? 0;
  };

  test("of ended runs goes with all of it, is 404, and is taken off the counts; live runs stay", async () => {
    const run = await finished();
    await scene.server.db.query(sql`
      INSERT INTO run_usage (environment_id, run_id, model, calls, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
      SELECT environment_id, id, 'large', 1, 0, 0, 0, 0 FROM runs WHERE id = ${decodeId("run", run.id)}`);
    await scene.server.db.query(sql`
      INSERT INTO run_continuations (environment_id, run_id, number, payload, continued_at)
      SELECT environment_id, id, 1, '2', created_at FROM runs WHERE id = ${decodeId("run", run.id)}`);
    const live = await scene.start("work");
    const before = await counts();
    await dropIn(29, { runsMs: 30 * DAY_MS });
    assert.deepEqual(drops.dropped["runs"], 0);
    assert.equal(await status(`/v1/runs/${run.id}`), 200);
    await dropIn(31, { runsMs: 30 * DAY_MS });
    assert.equal(drops.dropped["runs"], before.succeeded + (before.cancelled ?? 0));
    for (const path of ["", "/events", "/logs"])
      assert.equal(await status(`/v1/runs/${run.id}${path}`), 404, path);
    assert.equal(await rowsOf(run.id), 0);
    assert.equal(await status(`/v1/runs/${live.id}`), 200);
    const left = await counts();
    assert.deepEqual([left.succeeded ?? 0, left.queued], [0, 1]);
    await checkInvariants(scene.server.db, "after the runs went");
  });

  test("is known to be gone when a round went through everything, and not when another server was at it", async () => {
    await scene.server.db.transaction(async (tx) => {
      assert.equal(await takeRetentionLock(tx), true);
      await dropIn(1, { runsMs: 30 * DAY_MS });
      assert.deepEqual(drops.swept, []);
    });
    await dropIn(1, { runsMs: 30 * DAY_MS });
    assert.deepEqual(drops.swept, [scene.clock.now() + DAY_MS]);
  });

  test("a repeated start whose run is gone is told so, and starts nothing", async () => {
    const body = { idempotency_key: "kept longer than the run", idempotency_key_ttl: "30d" };
    await scene.start("work", body);
    await scene.worker.finish(await scene.worker.takeOne());
    await dropIn(2, { runsMs: DAY_MS });
    const repeat = await scene.call("POST", "/v1/tasks/work/start", { body });
    assert.deepEqual([repeat.status, repeat.body.error.code], [404, "not_found"]);
  });

  test("of a run that a living caller may ask for stays until the caller has ended", async () => {
    const parent = await scene.start("work");
    const lease = await scene.worker.takeOne();
    const child = await finished();
    await scene.server.db.query(sql`
      UPDATE runs SET parent_run_id = ${decodeId("run", parent.id)} WHERE id = ${decodeId("run", child.id)}`);
    await dropIn(31, { runsMs: DAY_MS });
    assert.equal(await status(`/v1/runs/${child.id}`), 200);
    await scene.worker.finish(lease);
    await dropIn(31, { runsMs: DAY_MS });
    assert.deepEqual(
      [await status(`/v1/runs/${child.id}`), await status(`/v1/runs/${parent.id}`)],
      [404, 404],
    );
  });

  test("a reader of dropped events or logs is told where they go on", async () => {
    const run = await finished();
    await dropIn(8, { eventsMs: 7 * DAY_MS, logsMs: 7 * DAY_MS });
    assert.equal(drops.dropped["run_logs"], 2);
    assert.equal((await scene.get(run.id)).status, "succeeded");
    const totals = { events: 0, logs: 2 };
    const [row] = await scene.server.db.query<{ count: number }>(sql`
      SELECT event_sequence AS count FROM run_results WHERE run_id = ${decodeId("run", run.id)}`);
    totals.events = row?.count ?? 0;
    for (const feed of ["events", "logs"] as const) {
      const expired = await scene.call("GET", `/v1/runs/${run.id}/${feed}?cursor=1`);
      assert.deepEqual(
        [expired.status, expired.body.error.code, expired.body.error.details],
        [410, "cursor_expired", { earliest_cursor: String(totals[feed]) }],
      );
      const fromTheStart = await scene.call("GET", `/v1/runs/${run.id}/${feed}`);
      assert.deepEqual(fromTheStart.body, { [feed]: [], next_cursor: null });
      const atTheEnd = await scene.call("GET", `/v1/runs/${run.id}/${feed}?cursor=${totals[feed]}`);
      assert.equal(atTheEnd.status, 200);
      const told = await readEvents(scene.server, `/api/runs/${run.id}/${feed}?follow=1&cursor=1`, {
        as: scene.server.credentials.api_key,
        until: ({ event }) => event === "end",
      });
      assert.deepEqual(
        told.map(({ event, data }) => [event, data.earliest_cursor ?? data.status]),
        [
          ["gap", String(totals[feed])],
          ["end", "succeeded"],
        ],
      );
    }
    const snapshot = (await scene.call("GET", `/api/runs/${run.id}/logs`)).body;
    assert.deepEqual([snapshot.stdout, snapshot.stdout_bytes, snapshot.truncated], ["", 10, true]);
  });

  test("of ended tokens goes, of pending ones and of those of a living run nothing", async () => {
    const make = async (): Promise<string> =>
      (await scene.call("POST", "/v1/tokens", { body: { timeout: "30d" } })).body.id;
    const [ended, pending, held] = [await make(), await make(), await make()];
    const run = await scene.start("work");
    const lease = await scene.worker.takeOne();
    await scene.server.db.query(sql`
      UPDATE tokens SET run_id = ${decodeId("run", run.id)} WHERE id = ${decodeId("tok", held)}`);
    for (const id of [ended, held])
      await scene.call("POST", `/v1/tokens/${id}/complete`, { body: { data: 1 } });
    await dropIn(31, { tokensMs: 30 * DAY_MS });
    const found = async (): Promise<number[]> => [
      await status(`/v1/tokens/${ended}`),
      await status(`/v1/tokens/${pending}`),
      await status(`/v1/tokens/${held}`),
    ];
    assert.deepEqual(await found(), [404, 200, 200]);
    await scene.worker.finish(lease);
    await dropIn(31, { tokensMs: 30 * DAY_MS });
    assert.deepEqual(await found(), [404, 200, 404]);
  });

  test("of bulk actions goes with the ledger, piece by piece; running ones stay", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      const body = { action: "cancel", filter: { tag: ["none"] } };
      const made = await scene.call("POST", "/v1/runs/bulk-actions", { body });
      assert.equal(made.status, 202, made.text);
      await until("it has ended", 30_000, async () => {
        const { body: action } = await scene.call("GET", `/v1/runs/bulk-actions/${made.body.id}`);
        return action.status === "completed";
      });
      ids.push(made.body.id);
    }
    const [ended, running] = ids as [string, string];
    await scene.server.db.query(sql`
      INSERT INTO bulk_action_items (environment_id, bulk_action_id, run_id, outcome, created_at)
      SELECT environment_id, id, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'cancelled', now()
      FROM bulk_actions, generate_series(1, 12000) n WHERE id = ${decodeId("bulk", ended)}`);
    await scene.server.db.query(sql`
      UPDATE bulk_actions SET status = 'running', ended_at = NULL, next_batch_at = 'infinity'
      WHERE id = ${decodeId("bulk", running)}`);
    await dropIn(29, { runsMs: 30 * DAY_MS });
    assert.equal(await status(`/v1/runs/bulk-actions/${ended}`), 200);
    await dropIn(31, { runsMs: 30 * DAY_MS });
    assert.equal(drops.dropped["bulk_actions"], 1);
    assert.equal(await status(`/v1/runs/bulk-actions/${ended}`), 404);
    assert.equal(await status(`/v1/runs/bulk-actions/${running}`), 200);
    const [left] = await scene.server.db.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM bulk_action_items`,
    );
    assert.equal(left?.count, 0);
    await scene.server.db.query(sql`DELETE FROM bulk_actions`);
  });

  test("of the ledgers of schedules goes, page by page", async () => {
    const made = await scene.call("POST", "/api/schedules", {
      body: { deduplication_key: "ledger", task: "work", cron: "0 0 1 1 *" },
    });
    assert.equal(made.status, 201, made.text);
    await scene.server.db.query(sql`
      INSERT INTO schedule_occurrences (environment_id, schedule_id, scheduled_at, status, reason, created_at)
      SELECT environment_id, id, now() - n * interval '1 hour', 'skipped', 'missed', now()
      FROM schedules, generate_series(1, 1200) n WHERE id = ${decodeId("sched", made.body.id)}`);
    await dropIn(10, { occurrencesMs: 10 * DAY_MS + 3_600_000 * 100.5 });
    const [left] = await scene.server.db.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM schedule_occurrences`,
    );
    assert.deepEqual([left?.count, drops.dropped["occurrences"]], [100, 1100]);
  });

  test("is dropped by one server at a time, in pages that pass over what is to stay", async () => {
    const kept = await scene.start("work");
    const lease = await scene.worker.takeOne();
    // More than a page, of which every other one has only just ended.
    await scene.server.db.query(sql`
      INSERT INTO run_results (environment_id, run_id, status, finished_at, epoch, applied_sequence, log_sequence, stdout_bytes,
        stderr_bytes, event_sequence)
      SELECT r.environment_id, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'failed',
        now() - (CASE WHEN n % 2 = 0 THEN interval '9 days' ELSE interval '0' END), 0, 0, 0, 0, 0, 0
      FROM runs r, generate_series(1, 1400) n WHERE r.id = ${decodeId("run", kept.id)}`);
    await scene.server.db.query(sql`
      INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, queue,
        priority, retry, created_at)
      SELECT x.environment_id, x.run_id, r.project_id, 'task', 'work', r.deployment_id, r.deployment_version, r.queue, 0, r.retry, now()
      FROM run_results x JOIN runs r ON r.id = ${decodeId("run", kept.id)} WHERE x.status = 'failed'`);
    await scene.server.db.transaction(async (tx) => {
      assert.ok(await takeRetentionLock(tx));
      await dropIn(0, { runsMs: 8 * DAY_MS });
    });
    assert.equal(drops.dropped["runs"], 0);
    await dropIn(0, { runsMs: 8 * DAY_MS });
    assert.equal(drops.dropped["runs"], 700);
    const [left] = await scene.server.db.query<{ runs: number; results: number }>(sql`
      SELECT (SELECT count(*) FROM runs WHERE id < '00000000-0000-7000-9000-000000000000') AS runs,
        (SELECT count(*) FROM run_results WHERE status = 'failed') AS results`);
    assert.deepEqual({ ...left }, { runs: 700, results: 700 });
    await scene.worker.finish(lease);
    await scene.server.db.query(sql`DELETE FROM run_results WHERE status = 'failed'`);
    await scene.server.db.query(sql`DELETE FROM runs WHERE id < '00000000-0000-7000-9000-000000000000'`);
    await scene.server.db.query(sql`DELETE FROM run_counts WHERE status = 'failed'`);
  });
});

test("what was dropped is taken off what the environment stores", async () => {
  const scene = await startRunScene({ tasks: [{ id: "work" }], actors: [{ id: "chat" }] });
  try {
    const stored = async (): Promise<number> => {
      const [row] = await scene.server.db.query<{ bytes: number | null }>(
        sql`SELECT sum(bytes)::bigint AS bytes FROM stored_bytes`,
      );
      return row?.bytes ?? 0;
    };
    const drop = (policy: Partial<RetentionPolicy>): Promise<void> =>
      dropEnded({
        db: scene.server.db,
        clock: () => scene.clock.now() + 100 * DAY_MS,
        retention: { ...NEVER_DROPPED, ...policy },
        countDropped: () => undefined,
        noteSwept: () => undefined,
        noteLoopFailure: () => undefined,
      });
    const session = await startSession(scene);
    await emit(scene, session, "x".repeat(1_000));
    await scene.call("POST", `/api/sessions/${session.id}/cancel`);
    await finishOne(scene);
    // A record of a thousand letters in quotes, and two lines of five bytes.
    await until("what was stored is counted", 30_000, async () => (await stored()) === 1_002 + 10);
    await drop({ logsMs: DAY_MS });
    assert.equal(await stored(), 1_002);
    await drop({ recordsMs: DAY_MS });
    assert.equal(await stored(), 0);
  } finally {
    await scene.stop();
  }
});

test("how long is a duration or never, and on by default", () => {
  assert.equal(loadConfig({}).retention.runsMs, 30 * DAY_MS);
  assert.equal(loadConfig({ KEELSON_KEEP_RUNS: "never" }).retention.runsMs, null);
  assert.equal(loadConfig({ KEELSON_KEEP_TOKENS: "12h" }).retention.tokensMs, DAY_MS / 2);
  for (const bad of ["0", "5m", "forever", "9999d"])
    assert.throws(
      () => loadConfig({ KEELSON_KEEP_LOGS: bad }),
      /KEELSON_KEEP_LOGS is ".*"; set a duration from 1h to 3650d, or never/,
    );
});
