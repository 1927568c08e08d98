import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { BLOB_GRACE_MS, collectBlobs } from "../../src/core/blobs/collect-blobs.ts";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { packLogs, type PackContext } from "../../src/core/run-logs/pack-logs.ts";
import { preventRemovals } from "../../src/core/blobs/removal-lock-reads.ts";
import { openCopySession } from "../../src/db/copy-tables.ts";
import { sql } from "../../src/db/sql.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { loadConfig } from "../../src/config.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { Killed, killedAt } from "../support/killed-at.ts";
import { createTestClock } from "../support/test-clock.ts";
import { readEvents } from "../support/read-events.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

const HOUR_MS = 3_600_000;
const CHUNKS = 120;
const CHUNK_BYTES = 12_000;

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

describe("logs of ended runs", () => {
  const ahead = createTestClock();
  let database: TestDatabase;
  let scene: RunScene;
  let context: PackContext;
  before(async () => {
    database = await createTestDatabase();
    scene = await startRunScene({ tasks: [{ id: "work" }] }, { database });
    ahead.advance(2 * HOUR_MS);
    context = {
      db: scene.server.db,
      clock: ahead.now,
      newUuid: createUuidGenerator(ahead.now),
      workspaceBlobs: (id) => createDiskBlobs(path.join(scene.server.dataDir, "workspaces", id)),
      noteLoopFailure: () => undefined,
      packLogsAfterMs: HOUR_MS,
    };
  });
  after(() => scene.stop());

  /** A run that said more than goes into one pack. */
  const talk = async (count = CHUNKS, bytes = CHUNK_BYTES): Promise<string> => {
    const run = await scene.start("work");
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    for (let n = 0; n < count; n += 20) {
      const chunks = Array.from({ length: Math.min(20, count - n) }, (_, index) => ({
        stream: (n + index) % 3 === 0 ? "stderr" : "stdout",
        data: Buffer.from(`${n + index} ${"é\0".repeat(bytes / 4)}`)
          .subarray(0, bytes - n)
          .toString("base64"),
        at: new Date(Date.UTC(2026, 10, 20, 9, 15, 0, n + index)).toISOString(),
      }));
      assert.deepEqual(await scene.worker.report(lease.operation("logs", { chunks })), [200]);
    }
    assert.deepEqual(await scene.worker.report(lease.operation("release", { outcome: "succeeded" })), [200]);
    return run.id as string;
  };

  /** Everything that a reader can see, each way of reading it. */
  const readAll = async (id: string): Promise<Json> => {
    const pages: Json[] = [];
    for (let cursor: string | null = "0"; cursor !== null;) {
      const { status, body } = await scene.call("GET", `/v1/runs/${id}/logs?limit=40&cursor=${cursor}`);
      assert.equal(status, 200, JSON.stringify(body));
      pages.push(...body.logs);
      cursor = body.next_cursor;
    }
    const followed = await readEvents(scene.server, `/api/runs/${id}/logs?follow=1&cursor=50`, {
      as: scene.server.credentials.api_key,
      until: ({ event }) => event === "end",
    });
    const snapshot = (await scene.call("GET", `/api/runs/${id}/logs`)).body;
    const whole = await scene.call("GET", `/v1/runs/${id}/logs?limit=200&cursor=${CHUNKS - 3}`);
    return { pages, followed, snapshot, whole: whole.body };
  };
  const rows = async (id: string): Promise<{ chunks: number; packs: number }> => {
    const run = decodeId("run", id);
    const [row] = await scene.server.db.query<{ chunks: number; packs: number }>(sql`
      SELECT (SELECT count(*) FROM run_logs WHERE run_id = ${run}) AS chunks,
        (SELECT count(*) FROM run_log_packs WHERE run_id = ${run}) AS packs`);
    assert.ok(row !== undefined);
    return { ...row };
  };

  test("are read as before once they are packed, whatever is written about them meanwhile", async () => {
    const [id, small] = [await talk(), await talk(1)];
    await scene.server.db.query(sql`
      UPDATE run_results SET stdout_bytes = 10, stderr_bytes = 10 WHERE run_id = ${decodeId("run", small)}`);
    const before = await readAll(id);
    assert.equal(before.pages.length, CHUNKS);
    assert.equal(before.followed.length, CHUNKS - 50 + 1);
    await packLogs({ ...context, clock: scene.clock.now });
    assert.deepEqual(await rows(id), { chunks: CHUNKS, packs: 0 }, "it has only just ended");
    await packLogs({ ...context, packLogsAfterMs: null });
    assert.deepEqual(await rows(id), { chunks: CHUNKS, packs: 0 }, "never");
    await packLogs(context);
    const packed = await rows(id);
    assert.equal(packed.chunks, 0);
    assert.ok(packed.packs === 2, `${packed.packs} packs`);
    assert.deepEqual(await readAll(id), before);
    assert.deepEqual(await rows(small), { chunks: 1, packs: 0 }, "not worth a file");
  });

  test("survive a crash before and after every statement and every write, neither lost nor doubled", async () => {
    let kills = 0;
    for (let at = 0; ; at += 1) {
      // Little, in packs that are smaller still: each crash has a run of its own.
      const id = await talk(60, 400);
      const before = await readAll(id);
      const isKilled = await packLogs(dying(context, at), 12_000).then(
        () => false,
        (error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          return true;
        },
      );
      assert.deepEqual(await readAll(id), before, `after a crash at ${at}`);
      // Another server: the claim of the killed one has run out.
      ahead.advance(6 * 60_000);
      await packLogs(context, 12_000);
      assert.deepEqual(await readAll(id), before, `packed after a crash at ${at}`);
      assert.equal((await rows(id)).chunks, 0);
      if (!isKilled) break;
      kills += 1;
    }
    console.log(`${kills} crashes`);
    assert.ok(kills >= 15);
  });

  test("are packed once by servers that do it at the same time", async () => {
    const ids = [await talk(40), await talk(40), await talk(40)];
    const before = await Promise.all(ids.map(readAll));
    // Claims are for thrift alone: these two do not see each other's.
    const claimless: PackContext = { ...context, clock: () => ahead.now() };
    await scene.server.db.query(sql`UPDATE log_packing SET claimed_until = NULL`);
    const second = packLogs(claimless);
    await scene.server.db.query(sql`UPDATE log_packing SET claimed_until = NULL`);
    await Promise.all([second, packLogs(claimless)]);
    ahead.advance(6 * 60_000);
    await packLogs(context);
    assert.deepEqual(await Promise.all(ids.map(readAll)), before);
    for (const id of ids) assert.equal((await rows(id)).chunks, 0);
  });

  test("stay rows while a backup is written, and are packed after it", async () => {
    const ids = [await talk(38), await talk(39)];
    const session = await openCopySession(database.url);
    let packed = 0;
    const begun: PackContext = {
      ...context,
      // The backup begins when the first run is packed, before the second one is.
      workspaceBlobs: (id) => {
        const blobs = context.workspaceBlobs(id);
        return {
          ...blobs,
          put: async (...args) => {
            packed += 1;
            if (packed === 2) await preventRemovals(session);
            return blobs.put(...args);
          },
        };
      },
    };
    await packLogs(begun);
    assert.deepEqual(await Promise.all(ids.map(rows)), [
      { chunks: 0, packs: 1 },
      { chunks: 39, packs: 0 },
    ]);
    await packLogs(context);
    assert.equal((await rows(ids[1] as string)).packs, 0);
    await session.close();
    await packLogs(context);
    assert.deepEqual(await rows(ids[1] as string), { chunks: 0, packs: 1 });
    const failures = await scene.server.db.query(sql`SELECT FROM loop_failures`);
    assert.equal(failures.length, 0);
  });

  test("go with their blobs when they were kept long enough, and those of others stay", async () => {
    const [old, kept] = [await talk(), await talk()];
    await packLogs(context);
    const before = await readAll(kept);
    const blobs = async (): Promise<number> => {
      const [row] = await scene.server.db.query<{ count: number }>(sql`SELECT count(*) AS count FROM blobs`);
      return row?.count ?? 0;
    };
    await scene.server.db.query(sql`
      UPDATE run_results SET finished_at = now() + interval '10 hours' WHERE run_id = ${decodeId("run", kept)}`);
    const retention = { ...loadConfig({ KEELSON_KEEP_RUNS: "never" }).retention, logsMs: 24 * HOUR_MS };
    await dropEnded({
      db: scene.server.db,
      clock: () => scene.clock.now() + 25 * HOUR_MS,
      retention,
      countDropped: () => undefined,
      noteSwept: () => undefined,
      noteLoopFailure: () => undefined,
    });
    assert.deepEqual(await rows(old), { chunks: 0, packs: 0 });
    assert.equal((await scene.call("GET", `/v1/runs/${old}/logs?cursor=3`)).status, 410);
    ahead.advance(3 * BLOB_GRACE_MS);
    for (let round = await collectBlobs(context); round.mayHaveMore; round = await collectBlobs(context));
    assert.deepEqual(await readAll(kept), before);
    assert.equal(await blobs(), (await rows(kept)).packs);
  });
});

/** Its writes of blobs are doings too. */
function dying(context: PackContext, at: number): PackContext {
  const { db, step } = killedAt(context.db, at);
  return {
    ...context,
    db,
    workspaceBlobs: (id) => {
      const store = context.workspaceBlobs(id);
      return { ...store, put: (...put) => step(() => store.put(...put)) };
    },
  };
}
