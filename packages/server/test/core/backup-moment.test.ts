// Most of a backup is copied before its moment: all of it has to be as the moment saw it all the same.

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { openArchive } from "../../src/core/backups/archive-reader.ts";
import { LEFT_OUT_TABLES, RUN_TABLES, type BackupManifest } from "../../src/core/backups/backup.ts";
import { restoreRows } from "../../src/core/backups/restore-backup.ts";
import { writeBackup } from "../../src/core/backups/write-backup.ts";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { packLogs, type PackContext } from "../../src/core/run-logs/pack-logs.ts";
import { packRecords, type PackRecordsContext } from "../../src/core/streams/pack-records.ts";
import { indexRuns } from "../../src/core/run-search/index-runs.ts";
import { openCopySession, type CopySession } from "../../src/db/copy-tables.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { loadConfig } from "../../src/config.ts";
import { countEnded } from "../support/count-runs.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { logChunk, REPORTED_AT, type HeldLease } from "../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { emit, send, startSession } from "../support/session-scene.ts";
import { makeTestFolder } from "../support/test-folder.ts";

/** So small that a few runs are several pages. */
const PAGE = 4;
const HOUR_MS = 3_600_000;
/** A restore takes the leases, and what workers were at, from those who had it. */
const CHANGED_BY_A_RESTORE = ["executions", "workers", "worker_tokens", "lease_requests", "deployments"];

let database: TestDatabase;
let scene: RunScene;
let folder: string;
before(async () => {
  database = await createTestDatabase();
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] }, { database });
  folder = await makeTestFolder();
});
after(async () => {
  await scene.stop();
  await rm(folder, { recursive: true });
});

/** It goes on with an empty journal, in another lease. */
async function continued(lease: HeldLease): Promise<HeldLease> {
  const operations = [
    lease.operation("start"),
    lease.operation("release", { outcome: "continued", payload: "more" }),
  ];
  assert.deepEqual(await scene.worker.report(...operations), [200, 200]);
  scene.clock.advance(1_000);
  return scene.worker.takeOne();
}

/** A run with rows in every table of runs, but for a packed log. */
async function end(text = "said"): Promise<string> {
  let lease = await scene.leased({ payload: { text }, tags: ["one", "two"] });
  if (text !== "said") lease = await continued(lease);
  const timer = { position: 2, name: "timer", kind: "timer", timeout: "3m" };
  const event = { kind: "step.completed", message: "Read.", attributes: { name: "read" }, at: REPORTED_AT };
  const statuses = await scene.worker.report(
    lease.operation("start"),
    lease.operation("steps", { entries: [{ position: 1, kind: "step", name: "read", value: "é" }] }),
    lease.operation("waits", { waits: [timer], parked: false }),
    lease.operation("logs", { chunks: [logChunk(text)] }),
    lease.operation("events", { events: [event] }),
    lease.operation("usage", { used: [{ model: "large", input_tokens: 10 }] }),
    lease.operation("release", { outcome: "succeeded", output: text }),
  );
  assert.deepEqual(new Set(statuses), new Set([200]), JSON.stringify(statuses));
  return lease.runId;
}

/** Enough for a pack. */
async function emitMany(session: { id: string }): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    const body = { records: Array.from({ length: 40 }, (_, index) => ({ data: n * 40 + index })) };
    const path = `/api/sessions/${session.id}/outputs/output`;
    assert.equal((await scene.call("POST", path, { body })).status, 201);
  }
}

const counted = (): Promise<void> => countEnded(scene.server.db, scene.clock.now);

const packing = (): PackContext & PackRecordsContext => ({
  db: scene.server.db,
  clock: () => scene.clock.now() + 2 * HOUR_MS,
  newUuid: createUuidGenerator(scene.clock.now),
  workspaceBlobs: (id) => createDiskBlobs(path.join(scene.server.dataDir, "workspaces", id)),
  noteLoopFailure: () => undefined,
  packLogsAfterMs: HOUR_MS,
  packRecordsAfterMs: HOUR_MS,
});

/** Of each table, its rows as texts. */
async function readTables(db: Queryable, names: readonly string[]): Promise<Map<string, string[]>> {
  const tables = new Map<string, string[]>();
  for (const name of names) {
    const rows = await db.query<{ text: string }>(rawSql(`SELECT t::text AS text FROM ${name} t ORDER BY 1`));
    tables.set(
      name,
      rows.map(({ text }) => text),
    );
  }
  return tables;
}

async function listTables(): Promise<string[]> {
  const session = await openCopySession(database.url);
  const tables = await session.listTables();
  await session.close();
  return tables.map(({ name }) => name);
}

/** A backup in which `meanwhile` happens after the ended runs were copied, and before the moment. */
async function backUp(
  file: string,
  { meanwhile, inMoment }: { meanwhile: () => Promise<void>; inMoment: (db: Queryable) => Promise<void> },
): Promise<BackupManifest> {
  const session = await openCopySession(database.url);
  const watched: CopySession = {
    ...session,
    inSnapshot: async (work) => {
      await meanwhile();
      return session.inSnapshot(async () => {
        await inMoment(session);
        return work();
      });
    },
  };
  try {
    const { manifest } = await writeBackup({
      session: watched,
      stores: { bundles: createDiskBlobs(path.join(scene.server.dataDir, "blobs")), ofEnvironment: blobsOf },
      ...{ file, version: "test", keys: [], now: scene.clock.now(), page: PAGE },
      signal: new AbortController().signal,
      tell: () => undefined,
    });
    return manifest;
  } finally {
    await session.close();
  }
}

const blobsOf = (id: string) => createDiskBlobs(path.join(scene.server.dataDir, "workspaces", id));

async function restored<Result>(file: string, look: (db: Database) => Promise<Result>): Promise<Result> {
  const empty = await createTestDatabase({ migrated: false });
  const archive = await openArchive(file, () => undefined);
  try {
    const stores = { bundles: createDiskBlobs(folder), ofEnvironment: () => createDiskBlobs(folder) };
    const signal = new AbortController().signal;
    await restoreRows({ archive, stores, now: scene.clock.now(), signal, tell: () => undefined }, empty.url);
    const db = createDatabase({ url: empty.url, poolSize: 1, statementNames: false });
    try {
      return await look(db);
    } finally {
      await db.close();
    }
  } finally {
    await archive.close();
    await empty.drop();
  }
}

describe("a backup", () => {
  test("has all tables as its moment saw them, whatever ended, began or was to go while it was written", async () => {
    await end("x".repeat(20_000));
    await packLogs(packing());
    for (let n = 0; n < 10; n += 1) await end();
    const live = await scene.leased();
    const [chat, silent, long] = [
      await startSession(scene),
      await startSession(scene),
      await startSession(scene),
    ];
    await scene.worker.take(3);
    await emitMany(long);
    await packRecords(packing());
    await emitMany(long);
    for (let n = 0; n < 10; n += 1) assert.equal((await emit(scene, chat, n)).status, 201);
    for (const data of ["kept", "withdrawn"]) assert.equal((await send(scene, chat, data)).status, 201);
    await counted();
    const names = (await listTables()).filter(
      (name) => ![...LEFT_OUT_TABLES, ...CHANGED_BY_A_RESTORE].includes(name),
    );
    const large = "y".repeat(20_000);
    let seen = new Map<string, string[]>();
    const file = path.join(folder, "moment.tar");
    const manifest = await backUp(file, {
      meanwhile: async () => {
        await end(large);
        await scene.worker.finish(live);
        await scene.leased();
        await scene.start("plain", { tags: ["queued"] });
        for (const session of [chat, silent])
          assert.equal((await emit(scene, session, "meanwhile")).status, 201);
        const withdrawn = await scene.call("DELETE", `/api/sessions/${chat.id}/inputs/input/2`);
        assert.equal(withdrawn.status, 200, withdrawn.text);
        // What is due to be packed or dropped waits.
        await packLogs(packing());
        await packRecords(packing());
        await dropEnded({
          ...{ db: scene.server.db, clock: () => scene.clock.now() + 100 * HOUR_MS },
          retention: loadConfig({ KEELSON_KEEP_RUNS: "1h" }).retention,
          ...{ countDropped: () => undefined, noteSwept: () => undefined, noteLoopFailure: () => undefined },
        });
        await counted();
      },
      inMoment: async (db) => {
        seen = await readTables(db, names);
      },
    });
    // After the moment, nothing of it is in the backup any more.
    await scene.worker.finish(await scene.worker.takeOne());

    assert.equal(seen.get("stream_records")?.length, 14 + 1 + 120);
    assert.equal(seen.get("record_packs")?.length, 1, "no records were packed while the backup was written");
    for (const table of RUN_TABLES) assert.ok((seen.get(table) ?? []).length > 0, `${table} has no rows`);
    assert.equal(seen.get("run_log_packs")?.length, 1, "nothing was packed while the backup was written");
    assert.equal(seen.get("run_results")?.length, 13, "nothing was dropped while the backup was written");
    const found = await restored(file, async (db) => {
      const tables = await readTables(db, names);
      // The words of runs are found again after the restore.
      while (await indexRuns({ db, clock: scene.clock.now, noteLoopFailure: () => undefined }));
      const [row] = await db.query<{ words: number; runs: number }>(
        sql`SELECT (SELECT count(*) FROM run_search) AS words, (SELECT count(*) FROM runs) AS runs`,
      );
      assert.equal(row?.words, row?.runs);
      return tables;
    });
    for (const name of names) assert.deepEqual(found.get(name), seen.get(name), name);
    for (const { name, rows } of manifest.tables)
      if (names.includes(name)) assert.equal(rows, seen.get(name)?.length, name);
  });

  test("holds its snapshot for what may still change alone", async () => {
    await counted();
    let isInMoment = false;
    const copied = {
      runs: { before: 0, within: 0 },
      stream_records: { before: 0, within: 0 },
      record_packs: { before: 0, within: 0 },
    };
    await packRecords(packing());
    const session = await openCopySession(database.url);
    const counting: CopySession = {
      ...session,
      inSnapshot: (work) =>
        session.inSnapshot(() => {
          isInMoment = true;
          return work();
        }),
      copyOut: async (table, rows, take) => {
        const count = await session.copyOut(table, rows, take);
        const { name } = table;
        if (name === "runs" || name === "stream_records" || name === "record_packs")
          copied[name][isInMoment ? "within" : "before"] += count;
        return count;
      },
    };
    await writeBackup({
      session: counting,
      stores: { bundles: createDiskBlobs(path.join(scene.server.dataDir, "blobs")), ofEnvironment: blobsOf },
      ...{
        file: path.join(folder, "counted.tar"),
        version: "test",
        keys: [],
        now: scene.clock.now(),
        page: 1,
      },
      signal: new AbortController().signal,
      tell: () => undefined,
    });
    const [row] = await session.query<Record<"ended" | "live" | "output" | "input" | "packs", number>>(sql`
      SELECT (SELECT count(*) FROM run_results) AS ended, (SELECT count(*) FROM executions) AS live,
        (SELECT sum(last_sequence - packed_sequence) FROM streams WHERE direction = 'output') AS output,
        (SELECT count(*) FROM record_packs) AS packs,
        (SELECT sum(last_sequence) FROM streams WHERE direction = 'input') AS input`);
    await session.close();
    assert.ok(row !== undefined && Object.values(row).every((count) => count > 0));
    assert.deepEqual(copied, {
      runs: { before: row.ended, within: row.live },
      stream_records: { before: row.output, within: row.input },
      record_packs: { before: row.packs, within: 0 },
    });
  });

  test("copies each table with rows of runs in one of two ways", async () => {
    // A table of this list is copied whole in the moment: its rows change after the run has ended, or are few.
    const whole = [
      ...["executions", "awaited_endings", "uncounted_runs", "secret_pins", "bulk_action_items"],
      ...["error_group_runs", "messages", "session_states", "run_rollup_progress", "log_packing"],
      ...["schedule_occurrences", "stream_records", "tokens", "processes", "public_access_tokens"],
    ];
    const rows = await scene.server.db.query<{ name: string }>(sql`
      SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attname = 'run_id' AND NOT a.attisdropped`);
    const known = [...RUN_TABLES, ...LEFT_OUT_TABLES, ...whole];
    assert.deepEqual(
      rows.map(({ name }) => name).filter((name) => !known.includes(name)),
      [],
    );
  });
});
