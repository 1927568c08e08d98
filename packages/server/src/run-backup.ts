import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemClock, type Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { BackupError, type BackupManifest, type BackupProgress } from "./core/backups/backup.ts";
import { nameBackup } from "./core/backups/name-backup.ts";
import { writeBackup } from "./core/backups/write-backup.ts";
import { findMasterKey } from "./core/credentials/master-key.ts";
import { openCopySession } from "./db/copy-tables.ts";
import { findEmbeddedServer, startEmbeddedServer } from "./embedded-postgres/embedded-server.ts";
import { openBlobs } from "./open-blobs.ts";

export type BackupRequest = {
  /** A file, which must not be there, or a folder: one whose name ends with a slash is made. */
  place: string;
  /** Put the master key and `credentials.json` into it: whoever has the archive then has everything. */
  includeKeys: boolean;
  /** Of the program that writes it. */
  version: string;
  clock?: Clock;
  signal: AbortSignal;
  tell: (progress: BackupProgress) => void;
  notice: (text: string) => void;
};

export const KEY_FILES = ["master.key", "credentials.json"] as const;

/** Backs up the installation of a configuration, whether its servers run or not. */
export async function runBackup(
  config: Config,
  request: BackupRequest,
): Promise<{ file: string; manifest: BackupManifest; sizeBytes: number }> {
  const now = (request.clock ?? systemClock)();
  const file = await nameBackup(request.place, now);
  const database = await openDatabase(config, request.notice);
  try {
    const session = await openCopySession(database.url);
    try {
      const { version, signal, tell } = request;
      const written = await writeBackup({
        session,
        stores: await openBlobs(config),
        file,
        version,
        keys: request.includeKeys ? await readKeys(config) : [],
        now,
        signal,
        tell,
      });
      return { file, ...written };
    } finally {
      await session.close();
    }
  } finally {
    await database.stop();
  }
}

/** That of DATABASE_URL, the embedded one that runs, or the embedded one started for this. */
async function openDatabase(
  { databaseUrl, databaseDirectUrl, dataDir }: Config,
  notice: (text: string) => void,
): Promise<{ url: string; stop: () => Promise<void> }> {
  if (databaseUrl !== null) return { url: databaseDirectUrl ?? databaseUrl, stop: async () => undefined };
  const place = join(dataDir, "postgres");
  const isThere = await stat(place).then(
    () => true,
    () => false,
  );
  if (!isThere)
    throw new BackupError(
      `${dataDir} holds no database. Set KEELSON_DATA_DIR to the folder of the installation, or DATABASE_URL.`,
    );
  const running = await findEmbeddedServer(place);
  if (running !== null) return { ...running, stop: async () => undefined };
  notice("Starting PostgreSQL");
  return startEmbeddedServer({ dataDir: place, log: notice });
}

async function readKeys({ dataDir, masterKey }: Config): Promise<{ name: string; bytes: Buffer }[]> {
  const key = masterKey ?? (await findMasterKey(dataDir));
  const credentials = await readFile(join(dataDir, "credentials.json")).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );
  return [
    ...(key === null ? [] : [{ name: "master.key", bytes: Buffer.from(`${key.toString("base64")}\n`) }]),
    ...(credentials === null ? [] : [{ name: "credentials.json", bytes: credentials }]),
  ];
}
