import type { CopySession, TableShape } from "../../db/copy-tables.ts";
import type { Blobs, BlobStore } from "../blobs/blob.ts";
import { createArchive, digestOf, type ArchiveWriter } from "./archive-writer.ts";
import {
  BACKUP_FORMAT,
  BACKUP_FORMAT_VERSION,
  BackupError,
  blobPartName,
  type BackupManifest,
  type BackupProgress,
  type BackupTable,
  type BlobHome,
  type MissingBlob,
} from "./backup.ts";
import { preventRemovals } from "../blobs/removal-lock-reads.ts";
import { markBlobsLost } from "./backup-writes.ts";
import { hasTables, listBundleDigests, listStoredBlobs, readOrigin } from "./backup-reads.ts";

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
};

/** Rows are gathered up to this before they are compressed and written. */
const PART_BYTES = 8 * 1024 * 1024;

/**
 * Writes a backup of everything while servers go on working. All rows are those of one snapshot; the blobs that it names
 * are copied afterwards, which is the same: a blob never changes, and until the backup is written none is removed.
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
    // The snapshot ends before the blobs are copied, so that PostgreSQL can clean up meanwhile.
    const { origin, tables, needed } = await session.inSnapshot(async () => {
      const begun = await readOrigin(session);
      const copied: BackupTable[] = [];
      for (const table of await session.listTables()) copied.push(await addTable(options, archive, table));
      return { origin: begun, tables: copied, needed: await listBlobs(session) };
    });
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

async function addTable(
  { session, signal, tell }: BackupOptions,
  archive: ArchiveWriter,
  { name, columns }: TableShape,
): Promise<BackupTable> {
  const parts: string[] = [];
  let gathered: Buffer[] = [];
  let gatheredBytes = 0;
  let doneBytes = 0;
  const flush = async (): Promise<void> => {
    const part = `tables/${name}/${String(parts.length + 1).padStart(6, "0")}.copy.zst`;
    await archive.add(part, Buffer.concat(gathered));
    parts.push(part);
    doneBytes += gatheredBytes;
    gathered = [];
    gatheredBytes = 0;
    tell({ what: name, done: doneBytes, of: null });
  };
  const rows = session.copyOut({ name, columns });
  for await (const chunk of rows) {
    signal.throwIfAborted();
    gathered.push(chunk as Buffer);
    gatheredBytes += (chunk as Buffer).length;
    if (gatheredBytes >= PART_BYTES) await flush();
  }
  if (gatheredBytes > 0) await flush();
  return { name, columns: [...columns], rows: rows.rowCount, parts };
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
