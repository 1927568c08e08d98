import { open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock, type Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { openArchive, type Archive } from "./core/backups/archive-reader.ts";
import { syncFolder } from "./core/backups/archive-writer.ts";
import {
  BackupError,
  NotEmptyError,
  type Affected,
  type BackupManifest,
  type BackupProgress,
} from "./core/backups/backup.ts";
import { findBackup } from "./core/backups/name-backup.ts";
import { requireKnownMigrations, restoreBlobs, restoreRows } from "./core/backups/restore-backup.ts";
import {
  findMasterKey,
  fingerprintOf,
  parseMasterKey,
  type MasterKey,
} from "./core/credentials/master-key.ts";
import { UNFINISHED_RESTORE } from "./refuse-unfinished-restore.ts";
import { startEmbeddedServer } from "./embedded-postgres/embedded-server.ts";
import { openBlobs } from "./open-blobs.ts";
import { KEY_FILES } from "./run-backup.ts";

export type RestoreRequest = {
  /** A backup, or a folder of which the newest is taken. */
  place: string;
  /** Looks at the archive alone and changes nothing. */
  checkOnly: boolean;
  clock?: Clock;
  signal: AbortSignal;
  tell: (progress: BackupProgress) => void;
  notice: (text: string) => void;
};

export type Restored = {
  file: string;
  manifest: BackupManifest;
  /** How many runs a worker held when the backup was made: they are found lost, and retried as their attempts allow. */
  heldRuns: number;
  /** What lacks a blob that was missing when the backup was made. Unknown, and empty, when the archive is only checked. */
  affected: Affected[];
};

/** What may be in a folder that is empty otherwise: the key, which is how it gets there, and what a file system makes. */
const ALLOWED = ["master.key", "lost+found"];

/**
 * Restores a backup into an empty data folder, and an empty database where DATABASE_URL names one. Until it is done, no
 * server starts in the folder.
 *
 * @throws BackupError whose message says what to do.
 */
export async function runRestore(config: Config, request: RestoreRequest): Promise<Restored> {
  const { tell, signal, clock = systemClock } = request;
  const { dataDir } = config;
  const file = await findBackup(request.place);
  if (!request.checkOnly) await requireEmptyFolder(dataDir);
  const archive = await openArchive(file, tell);
  try {
    const { manifest } = archive;
    await requireKnownMigrations(archive);
    if (request.checkOnly) return { file, manifest, heldRuns: 0, affected: [] };
    const keys = await chooseKeys(config, archive);
    const marker = join(dataDir, UNFINISHED_RESTORE);
    await writeSynced(marker, `${file}\n`);
    await syncFolder(dataDir);
    for (const { name, bytes } of keys) await writeSynced(join(dataDir, name), bytes);
    const context = { archive, stores: await openBlobs(config), now: clock(), signal, tell };
    await restoreBlobs(context);
    const restored = await intoDatabase(config, request.notice, (url) => restoreRows(context, url));
    await rm(marker);
    await syncFolder(dataDir);
    return { file, manifest, ...restored };
  } finally {
    await archive.close();
  }
}

async function intoDatabase<Result>(
  { databaseUrl, databaseDirectUrl, dataDir }: Config,
  notice: (text: string) => void,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  if (databaseUrl !== null) return work(databaseDirectUrl ?? databaseUrl);
  notice("Starting PostgreSQL");
  const embedded = await startEmbeddedServer({ dataDir: join(dataDir, "postgres"), log: notice });
  try {
    return await work(embedded.url);
  } finally {
    await embedded.stop();
  }
}

async function requireEmptyFolder(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  const found = names.find((name) => !ALLOWED.includes(name));
  if (found === undefined) return;
  throw new NotEmptyError(
    names.includes(UNFINISHED_RESTORE)
      ? `A restore into ${dataDir} did not finish. Empty the folder (keep master.key if you put it there), and restore again.`
      : `${dataDir} is not empty (${found}). Restore into an empty folder: set KEELSON_DATA_DIR to one, or move what is there away.`,
  );
}

/** The keys of the archive that the folder lacks. Refuses at once what no server would start with in the end. */
async function chooseKeys(config: Config, archive: Archive): Promise<{ name: string; bytes: Buffer }[]> {
  const { master_key_fingerprint: wanted, parts } = archive.manifest;
  const given = config.masterKey ?? (await findMasterKey(config.dataDir));
  const keys: { name: string; bytes: Buffer }[] = [];
  for (const name of KEY_FILES) {
    if (!parts.some((part) => part.name === `keys/${name}`)) continue;
    if (name === "master.key" && given !== null) continue;
    keys.push({ name, bytes: await archive.read(`keys/${name}`) });
  }
  const own = keys.find(({ name }) => name === "master.key");
  const key: MasterKey | null = given ?? (own === undefined ? null : parseMasterKey(own.bytes.toString()));
  if (wanted === null || (key !== null && fingerprintOf(key).toString("hex") === wanted)) return keys;
  const short = `fingerprint ${wanted.slice(0, 16)}`;
  const whatToDo =
    "Set KEELSON_MASTER_KEY to the key that was in use, or put its master.key into the empty data folder. Secrets and the credentials of tokens cannot be read without it.";
  throw new BackupError(
    key === null
      ? `The backup holds no master key (${short}), and this folder has none. ${whatToDo}`
      : `The backup belongs to another master key (${short}; the one here has ${fingerprintOf(key).toString("hex").slice(0, 16)}). ${whatToDo}`,
  );
}

async function writeSynced(file: string, bytes: string | Buffer): Promise<void> {
  await writeFile(file, bytes, { mode: 0o600, flag: "wx" });
  const handle = await open(file, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
