import { isDeepStrictEqual } from "node:util";
import type { CopySession } from "../../db/copy-tables.ts";
import type { Sql } from "../../db/sql.ts";
import type { Blobs, BlobStore } from "../blobs/blob.ts";
import { createArchive, digestOf, type ArchiveWriter } from "./archive-writer.ts";
import {
  BACKUP_FORMAT,
  BACKUP_FORMAT_VERSION,
  BackupError,
  blobPartName,
  isRunTable,
  LEFT_OUT_TABLES,
  type BackupManifest,
  type BackupProgress,
  type BackupTable,
  type BlobHome,
  type MissingBlob,
} from "./backup.ts";
import { preventRemovals } from "../blobs/removal-lock-reads.ts";
import { markBlobsLost } from "./backup-writes.ts";
import { hasTables, listBundleDigests, listStoredBlobs, readOrigin } from "./backup-reads.ts";
import { copyOutputRecords } from "./copy-output-records.ts";
import { copyRecordPacks } from "./copy-record-packs.ts";
import { copyEndedRuns } from "./copy-ended-runs.ts";
import { rowsOfOthers } from "./run-history-reads.ts";
import { openTableParts, type TableParts } from "./table-parts.ts";

export type BackupOptions = {
  session: CopySession;
  stores: Blobs;
  file: string;
  /** Of the program. */
  version: string;
  /** Files of the data folder that are keys: none unless they are asked for. */
  keys: readonly { name: string; bytes: Buffer }[];
  now: number;
  signal: AbortSignal;
  tell: (progress: BackupProgress) => void;
  /** Ended runs, and records, that are copied at a time. */
  page?: number;
};

const RECORDS = "stream_records";
const RECORD_PACKS = "record_packs";

const MIGRATED = "The tables were migrated while they were backed up. Start the backup again.";

/**
 * Writes a backup of everything while servers go on working. All rows are those of one moment. Runs that have ended and
 * output are copied before it, and the blobs that its rows name after it, which is the same: they never change, and until the
 * backup is written none is removed. So the snapshot of the moment, which keeps PostgreSQL from cleaning up, is held for what
 * lives alone.
 *
 * A blob that is missing or damaged is named in the manifest, and its row says from now on that it is not stored, so that
 * the next commit of that content stores it again.
 *
 * @throws BackupError when there is nothing to back up.
 */
export async function writeBackup(
  options: BackupOptions,
): Promise<{ manifest: BackupManifest; sizeBytes: number }> {
  const { session, file, now, keys } = options;
  const archive = await createArchive(file, now);
  try {
    if (!(await hasTables(session)))
      throw new BackupError("The database has no tables of Keelson: there is nothing to back up.");
    await preventRemovals(session);
    const { origin, tables, needed } = await copyTables(options, archive);
    const { blobs, missing } = await addBlobs(options, archive, needed);
    await markBlobsLost(session, missing);
    for (const { name, bytes } of keys) await archive.add(`keys/${name}`, bytes);
    const manifest: BackupManifest = {
      format: BACKUP_FORMAT,
      format_version: BACKUP_FORMAT_VERSION,
      version: options.version,
      ...origin,
      includes_keys: keys.length > 0,
      tables,
      blobs,
      ...(missing.length === 0 ? {} : { missing_blobs: missing }),
      parts: [...archive.parts],
    };
    return { manifest, sizeBytes: await archive.finish(JSON.stringify(manifest)) };
  } finally {
    await archive.discard();
  }
}

/** The tables as one moment sees them. What cannot change any more is copied before it. */
async function copyTables(options: BackupOptions, archive: ArchiveWriter) {
  const { session, page } = options;
  const begun = new Map<string, TableParts>();
  for (const table of await session.listTables())
    if (isRunTable(table.name) || [RECORDS, RECORD_PACKS].includes(table.name))
      begun.set(table.name, openTableParts(options, archive, table));
  const ofRuns = new Map([...begun].flatMap(([name, parts]) => (isRunTable(name) ? [[name, parts]] : [])));
  const { copied, packs, records } = await session.byIndex(async () => ({
    packs: await copyRecordPacks(options, begun.get(RECORD_PACKS), page),
    records: await copyOutputRecords(options, begun.get(RECORDS), page),
    copied: await copyEndedRuns(options, ofRuns, page),
  }));
  const rests = new Map([
    [RECORDS, records],
    [RECORD_PACKS, packs],
  ]);
  const restOf = (name: string): Sql | undefined =>
    isRunTable(name) ? rowsOfOthers(name, copied) : rests.get(name);
  return session.inSnapshot(async () => {
    const origin = await readOrigin(session);
    const tables: BackupTable[] = [];
    for (const table of await session.listTables()) {
      if (LEFT_OUT_TABLES.includes(table.name)) continue;
      const parts = begun.get(table.name) ?? openTableParts(options, archive, table);
      if (!isDeepStrictEqual(parts.columns, table.columns)) throw new BackupError(MIGRATED);
      await parts.copy(restOf(table.name));
      tables.push(await parts.end());
    }
    return { origin, tables, needed: await listBlobs(session) };
  });
}

type NeededBlob = { home: BlobHome; digest: string };

async function listBlobs(session: CopySession): Promise<NeededBlob[]> {
  const bundles = await listBundleDigests(session);
  const others = await listStoredBlobs(session);
  return [
    ...bundles.map((digest): NeededBlob => ({ home: { kind: "bundles" }, digest })),
    ...others.map(({ environmentId, digest }): NeededBlob => ({
      home: { kind: "environment", environmentId },
      digest,
    })),
  ];
}

export const storeOf = (stores: Blobs, home: BlobHome): BlobStore =>
  home.kind === "bundles" ? stores.bundles : stores.ofEnvironment(home.environmentId);

async function addBlobs(
  { stores, signal, tell }: BackupOptions,
  archive: ArchiveWriter,
  needed: readonly NeededBlob[],
): Promise<{ blobs: BackupManifest["blobs"]; missing: MissingBlob[] }> {
  const missing: MissingBlob[] = [];
  let bytes = 0;
  for (const [index, { home, digest }] of needed.entries()) {
    signal.throwIfAborted();
    const raw = await storeOf(stores, home).load(digest);
    if (raw === null || digestOf(raw) !== digest) {
      const environmentId = home.kind === "bundles" ? null : home.environmentId;
      missing.push({ environment_id: environmentId, digest, problem: raw === null ? "missing" : "damaged" });
    } else {
      await archive.add(blobPartName(home, digest), raw);
      bytes += raw.length;
    }
    tell({ what: "blobs", done: index + 1, of: needed.length });
  }
  return { blobs: { count: needed.length - missing.length, bytes }, missing };
}
