import { chmod, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client, Pool } from "pg";
import { startEmbeddedServer } from "../../../packages/server/src/embedded-postgres/embedded-server.ts";

/** The one PostgreSQL of a run; each contestant has a database of its own in it. */
export type BenchPostgres = {
  pid: number;
  /** Folder of the run, on a real disk; databases, blobs and agents' data are below it. */
  dir: string;
  /** Settings that decide what a commit means, read back from the server. */
  settings: Record<string, string>;
  /** Makes an empty database, or a copy of one that nobody is connected to, and returns its URL; one of that name is dropped first. */
  createDatabase(name: string, template?: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  url(name: string): string;
  stop(): Promise<void>;
};

const READ_BACK = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_sync_method",
  "wal_level",
  "shared_buffers",
  "max_wal_size",
  "data_checksums",
];
// A file system in memory makes fsync free, and every figure meaningless. Source: linux/magic.h.
const MEMORY_FILE_SYSTEMS = [0x01021994, 0x858458f6];

export async function startBenchPostgres(wantedDir: string | undefined): Promise<BenchPostgres> {
  const dir = await mkdtemp(path.join(await findDiskDir(wantedDir), "keelson-bench-"));
  // Root starts PostgreSQL as another account, which must be able to pass; else the cluster would be on another disk.
  await chmod(dir, 0o711);
  const server = await startEmbeddedServer({ dataDir: path.join(dir, "postgres") });
  const url = (name: string): string => server.url.replace(/\/[^/?]*\?/, `/${name}?`);
  const admin = new Client({ connectionString: url("postgres") });
  await admin.connect();

  const settings: Record<string, string> = {};
  for (const name of READ_BACK)
    settings[name] =
      (await admin.query<{ value: string }>("SELECT current_setting($1) AS value", [name])).rows[0]?.value ??
      "";
  if (settings["fsync"] !== "on" || settings["synchronous_commit"] !== "on")
    throw new Error(`the database does not flush what it acknowledges: ${JSON.stringify(settings)}`);

  const dropDatabase = async (name: string): Promise<void> => {
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  };
  return {
    pid: server.pid,
    dir,
    settings,
    url,
    dropDatabase,
    async createDatabase(name, template = "template1") {
      await dropDatabase(name);
      await admin.query(
        `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY ${template === "template1" ? "WAL_LOG" : "FILE_COPY"}`,
      );
      return url(name);
    },
    async stop() {
      await admin.end();
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A pool of exactly `size` open connections, so that no measurement contains a connection's start. */
export async function openPool(url: string, size: number): Promise<Pool> {
  const pool = new Pool({ connectionString: url, max: size, idleTimeoutMillis: 0 });
  pool.on("error", () => {}); // A lost idle connection fails the next query, which tells more.
  const clients = await Promise.all(Array.from({ length: size }, () => pool.connect()));
  for (const client of clients) client.release();
  return pool;
}

async function findDiskDir(wanted: string | undefined): Promise<string> {
  for (const dir of wanted === undefined ? [tmpdir(), "/var/tmp"] : [wanted]) {
    const { type } = await statfs(dir);
    if (!MEMORY_FILE_SYSTEMS.includes(type)) return dir;
  }
  throw new Error(
    "the temporary folders are in memory, where fsync costs nothing; name a folder on a disk with --dir",
  );
}
