import { parseUuid, type Uuid } from "@keelson/contract";

/**
 * A backup is one archive: the rows of the tables as one moment saw them, and the blobs that those rows name. Its parts
 * come first and its manifest last, so that an archive that was cut off has none. It is written once and never changed.
 */

export const BACKUP_FORMAT = "keelson-backup";
export const BACKUP_FORMAT_VERSION = 2;
export const MANIFEST_NAME = "manifest.json";
/** The manifest's own digest, in the form that `sha256sum --check` reads. */
export const MANIFEST_DIGEST_NAME = "manifest.json.sha256";

export type BackupPart = {
  name: string;
  /** In the archive, compressed. */
  size_bytes: number;
  raw_bytes: number;
  /** Of the bytes in the archive, in hexadecimal. */
  sha256: string;
};

export type BackupTable = { name: string; columns: string[]; rows: number; parts: string[] };

/**
 * Tables that have rows of runs, and nothing else. A row of a run that has ended never changes, and goes with the run
 * only, or as a packed log.
 */
export const RUN_TABLES = [
  ...(["runs", "run_results", "run_tags", "run_journal", "run_waits"] as const),
  ...(["run_continuations"] as const),
  ...(["run_events", "run_logs", "run_log_packs", "run_usage"] as const),
] as const;

export type RunTable = (typeof RUN_TABLES)[number];

export const isRunTable = (name: string): name is RunTable =>
  (RUN_TABLES as readonly string[]).includes(name);

/** Made from the runs, and made again after a restore: as much as the runs themselves. */
export const LEFT_OUT_TABLES: readonly string[] = [
  ...["run_search", "run_search_live", "run_search_blocks", "run_search_environments"],
];

export type BackupManifest = {
  format: typeof BACKUP_FORMAT;
  format_version: number;
  /** Of the program that wrote it. */
  version: string;
  /** What the rows are as of. */
  snapshot_at: string;
  postgresql_version: string;
  migrations: { number: number; name: string; checksum: string }[];
  /** Tells keys apart without telling the key; null when no server has ever been started on the database. */
  master_key_fingerprint: string | null;
  includes_keys: boolean;
  /** In the order in which they can be written. */
  tables: BackupTable[];
  blobs: { count: number; bytes: number };
  /** Absent: none. */
  missing_blobs?: MissingBlob[];
  parts: BackupPart[];
};

/** A blob that the rows name, and whose bytes the backup does not have. */
export type MissingBlob = {
  /** Null: a bundle, of all environments. */
  environment_id: string | null;
  digest: string;
  problem: "missing" | "damaged";
};

/** What of a restored installation lacks a missing blob, as ids. */
export type Affected = MissingBlob & {
  workspaces: string[];
  deployments: string[];
  runs: string[];
  /** Those with a file. */
  sessions: string[];
};

/** Whose blobs: bundles of all environments, or the workspaces, logs and files of sessions of one. */
export type BlobHome = { kind: "bundles" } | { kind: "environment"; environmentId: Uuid<"env"> };

const BUNDLE_PART = /^bundles\/([0-9a-f]{64})\.zst$/;
const BLOB_PART = /^environments\/([0-9a-f-]{36})\/([0-9a-f]{64})\.zst$/;

export const blobPartName = (home: BlobHome, digest: string): string =>
  home.kind === "bundles" ? `bundles/${digest}.zst` : `environments/${home.environmentId}/${digest}.zst`;

/** The blob of a part's name; null for other parts. Nothing else in an archive ever becomes a place to write to. */
export function readBlobPartName(name: string): { home: BlobHome; digest: string } | null {
  const bundle = BUNDLE_PART.exec(name)?.[1];
  if (bundle !== undefined) return { home: { kind: "bundles" }, digest: bundle };
  const [, environment, digest] = BLOB_PART.exec(name) ?? [];
  if (environment === undefined || digest === undefined) return null;
  const environmentId = parseUuid<"env">(environment);
  if (environmentId === null) return null;
  return { home: { kind: "environment", environmentId }, digest };
}

/** What is wrong with a backup or its place, in one line for the person who runs the command. */
export class BackupError extends Error {
  override readonly name: string = "BackupError";
}

/** Bytes of the archive are not those that were written. */
export class DamagedBackupError extends BackupError {
  override readonly name = "DamagedBackupError";
}

/** The place to restore to holds something. */
export class NotEmptyError extends BackupError {
  override readonly name = "NotEmptyError";
}

export type BackupProgress = { what: string; done: number; of: number | null };

/** @throws DamagedBackupError, or BackupError when it is of a format this program does not know. */
export function parseManifest(text: string): BackupManifest {
  let manifest: Partial<BackupManifest>;
  try {
    manifest = JSON.parse(text) as Partial<BackupManifest>;
  } catch (cause) {
    throw new DamagedBackupError("The manifest is not JSON: the archive was made by something else.", {
      cause,
    });
  }
  if (manifest.format !== BACKUP_FORMAT) throw new BackupError("The archive is not a backup of Keelson.");
  if (manifest.format_version !== BACKUP_FORMAT_VERSION) {
    throw new BackupError(
      `The backup has the format ${manifest.format_version}, and this Keelson reads ${BACKUP_FORMAT_VERSION}. Restore it with the Keelson that wrote it (${manifest.version}).`,
    );
  }
  return manifest as BackupManifest;
}

type Migration = BackupManifest["migrations"][number];

/**
 * Whether this program can bring a backup's tables to its own.
 *
 * @returns why not, or null.
 */
export function decideMigrations(of: readonly Migration[], own: readonly Migration[]): string | null {
  for (const [index, migration] of of.entries()) {
    const file = own[index];
    if (file === undefined || file.number !== migration.number)
      return `The backup is of a newer or another Keelson: it has had the migration ${migration.name}, which is missing here. Restore it with that Keelson or a newer one.`;
    if (file.checksum !== migration.checksum)
      return `The migration ${migration.name} differs from the one in the backup. Restore it with the version of Keelson that wrote it.`;
  }
  return null;
}
