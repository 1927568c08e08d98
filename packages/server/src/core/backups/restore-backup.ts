import { once } from "node:events";
import { finished } from "node:stream/promises";
import { migrate } from "../../db/migrate.ts";
import { readMigrations } from "../../db/migration-files.ts";
import { openCopySession, type CopySession } from "../../db/copy-tables.ts";
import type { Archive } from "./archive-reader.ts";
import {
  BackupError,
  DamagedBackupError,
  decideMigrations,
  NotEmptyError,
  readBlobPartName,
  type Affected,
  type BackupProgress,
  type BackupTable,
} from "./backup.ts";
import { findAffected, hasTables, isInUse, readOrigin } from "./backup-reads.ts";
import {
  analyzeTables,
  continueEndNumbers,
  endDeploymentChecks,
  endExecutionLeases,
  markBlobsLost,
  endMaterializationLeases,
  forgetWorkers,
} from "./backup-writes.ts";
import type { Blobs } from "../blobs/blob.ts";
import { storeOf } from "./write-backup.ts";

export type RestoreContext = {
  archive: Archive;
  stores: Blobs;
  now: number;
  signal: AbortSignal;
  tell: (progress: BackupProgress) => void;
};

export type RestoredRows = { heldRuns: number; affected: Affected[] };

/** @throws BackupError when this program cannot bring the backup's tables to its own. */
export async function requireKnownMigrations({ manifest }: Archive): Promise<void> {
  const refusal = decideMigrations(manifest.migrations, await readMigrations());
  if (refusal !== null) throw new BackupError(refusal);
}

/** Each is written under the digest that it is found to have. */
export async function restoreBlobs({ archive, stores, signal, tell }: RestoreContext): Promise<void> {
  const { parts, blobs } = archive.manifest;
  let done = 0;
  for (const { name } of parts) {
    const blob = readBlobPartName(name);
    if (blob === null) continue;
    signal.throwIfAborted();
    const bytes = await archive.read(name);
    await storeOf(stores, blob.home).put(blob.digest, chunkOf(bytes), bytes.length);
    tell({ what: "blobs", done: (done += 1), of: blobs.count });
  }
  if (done !== blobs.count)
    throw new DamagedBackupError(`The backup has ${done} blobs, and its manifest says ${blobs.count}.`);
}

async function* chunkOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/**
 * Brings the rows into an empty database, in the tables that they were read from, and then the tables to this version.
 * The rows are there all or not at all. Leases of the world that was backed up end: runs that were held are found lost.
 *
 * @param databaseUrl past any pooler.
 * @returns how many runs a worker held, and what lacks a blob that the backup does not have.
 * @throws NotEmptyError when the database is in use.
 */
export async function restoreRows(context: RestoreContext, databaseUrl: string): Promise<RestoredRows> {
  const { archive, now } = context;
  const { migrations, tables, missing_blobs: missing = [] } = archive.manifest;
  const session = await openCopySession(databaseUrl);
  try {
    await requireEmpty(session, migrations.length);
    await migrate(databaseUrl, { upTo: migrations.at(-1)?.number ?? 0 });
    await session.inTransaction(async () => {
      await requireEmpty(session, migrations.length);
      const known = await session.listTables();
      const unknown = tables.find(({ name }) => !known.some((table) => table.name === name));
      if (unknown !== undefined)
        throw new BackupError(`The backup has a table ${unknown.name}, which no migration makes.`);
      await session.emptyTables(known);
      for (const table of tables) await restoreTable(context, session, table);
    });
    await migrate(databaseUrl);
    const held = await session.inTransaction(async () => {
      const count = await endExecutionLeases(session, now);
      await continueEndNumbers(session);
      await endMaterializationLeases(session, now);
      await endDeploymentChecks(session, now);
      await forgetWorkers(session);
      await markBlobsLost(session, missing);
      return count;
    });
    await analyzeTables(session);
    const affected: Affected[] = [];
    for (const blob of missing) affected.push(await findAffected(session, blob));
    return { heldRuns: held, affected };
  } finally {
    await session.close();
  }
}

/** Tables of the backup's version that no server has used are what a restore that failed has left. */
async function requireEmpty(session: CopySession, migrationCount: number): Promise<void> {
  if (!(await hasTables(session))) return;
  const { migrations } = await readOrigin(session);
  if (migrations.length === migrationCount && !(await isInUse(session))) return;
  throw new NotEmptyError("The database is in use. Restore into an empty one.");
}

async function restoreTable(
  { archive, signal, tell }: RestoreContext,
  session: CopySession,
  table: BackupTable,
): Promise<void> {
  const rows = session.copyIn(table);
  const ended = finished(rows);
  // Awaited below, or passed over for what went wrong before it.
  ended.catch(() => undefined);
  let done = 0;
  for (const part of table.parts) {
    signal.throwIfAborted();
    const bytes = await archive.read(part);
    if (!rows.write(bytes)) await Promise.race([once(rows, "drain"), ended]);
    done += bytes.length;
    tell({ what: table.name, done, of: null });
  }
  rows.end();
  await ended;
  // Backups of before may say too few. What was lost of a part its digest would have told.
  if (rows.rowCount < table.rows)
    throw new DamagedBackupError(
      `The table ${table.name} got ${rows.rowCount} rows, and the manifest says ${table.rows}.`,
    );
}
