// Makes a new PostgreSQL cluster (the files of a database server) where there is none.

import { execFile } from "node:child_process";
import { chown, mkdir, open, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { EmbeddedBinaries } from "./binaries.ts";
import { isAlive, isPostmasterOf, readPostmasterPid } from "./postmaster-pid.ts";
import type { RunAs } from "./run-as.ts";

export const EMBEDDED_USER = "keelson";

// Present in a cluster whose files may not have reached the disk yet; nobody has been told of its server.
const UNFINISHED_NAME = "keelson-unfinished";

const INITDB_FLAGS = [
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  "--locale=C",
  "-E",
  "UTF8",
  "--data-checksums",
  "-A",
  "trust",
  "--no-sync",
  "--no-instructions",
];

/**
 * Makes the cluster unless it is there. Returns true when `finishCluster` must be called before anything is stored; that
 * is also so when another process, which starts at the same time, made it: whoever gets the server finishes.
 */
export async function prepareCluster(
  binaries: EmbeddedBinaries,
  runAs: RunAs,
  clusterDir: string,
): Promise<boolean> {
  await removeUnfinished(clusterDir);
  const found = await readFile(path.join(clusterDir, "PG_VERSION"), "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );
  if (found !== null) {
    if (found.trim() === binaries.majorVersion) return (await findMaker(clusterDir)) !== null;
    throw new Error(
      `The folder ${clusterDir} holds a PostgreSQL ${found.trim()} database, but this Keelson brings PostgreSQL ${binaries.majorVersion}. ` +
        "Start the Keelson that made it and back it up, or choose another folder with KEELSON_DATA_DIR.",
    );
  }
  await initialise(binaries, runAs, clusterDir);
  return true;
}

/** Forces a new cluster's files to the disk and marks it as made. Runs beside the first start, which saves its time. */
export async function finishCluster(clusterDir: string): Promise<void> {
  await syncFolder(clusterDir);
  await syncFile(path.dirname(clusterDir));
  await rm(path.join(clusterDir, UNFINISHED_NAME), { force: true });
  await syncFile(clusterDir);
}

async function initialise(binaries: EmbeddedBinaries, runAs: RunAs, clusterDir: string): Promise<void> {
  await removeStagings(clusterDir);
  // Made beside its place and renamed: a process killed within initdb leaves no half cluster, and of two processes that
  // start at once one wins.
  const staging = `${clusterDir}.making-${process.pid}`;
  await mkdir(staging, { mode: 0o700 });
  await chown(staging, runAs.uid, runAs.gid);
  try {
    await promisify(execFile)(binaries.initdb, ["-D", staging, "-U", EMBEDDED_USER, ...INITDB_FLAGS], {
      cwd: "/",
      env: {},
      ...(runAs.switched ? { uid: runAs.uid, gid: runAs.gid } : {}),
    });
    await writeFile(path.join(staging, UNFINISHED_NAME), String(process.pid));
    await rename(staging, clusterDir);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if ((error as NodeJS.ErrnoException).code === "ENOTEMPTY") return; // The other process won.
    const { stderr } = error as { stderr?: string };
    const lastLine = stderr?.trim().split("\n").at(-1);
    if (lastLine === undefined) throw error;
    throw new Error(`The database folder ${clusterDir} could not be made: ${lastLine}`, { cause: error });
  }
}

/** The process that made the cluster but has not finished it, or null. */
async function findMaker(clusterDir: string): Promise<number | null> {
  return readFile(path.join(clusterDir, UNFINISHED_NAME), "utf8").then(
    Number,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );
}

/** Removes a cluster whose making was cut short; a power cut may have left it damaged, and nothing is stored in it. */
async function removeUnfinished(clusterDir: string): Promise<void> {
  const maker = await findMaker(clusterDir);
  if (maker === null) return;
  const claim = await readPostmasterPid(clusterDir);
  // The maker, or another that started with it, is at work: its server is for the caller to take over or refuse.
  if (claim !== null && (await isPostmasterOf(claim.pid, clusterDir))) return;
  if (maker !== process.pid && isAlive(maker)) return;
  await rm(clusterDir, { recursive: true });
}

async function removeStagings(clusterDir: string): Promise<void> {
  const prefix = `${path.basename(clusterDir)}.making-`;
  for (const name of await readdir(path.dirname(clusterDir))) {
    const pid = Number(name.slice(prefix.length));
    if (name.startsWith(prefix) && (pid === process.pid || !isAlive(pid)))
      await rm(path.join(path.dirname(clusterDir), name), { recursive: true });
  }
}

async function syncFolder(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) await syncFolder(file);
      else if (entry.isFile()) await syncFile(file);
    }),
  );
  await syncFile(folder);
}

async function syncFile(file: string): Promise<void> {
  let handle;
  try {
    handle = await open(file, "r");
  } catch (error) {
    // The running server has removed or renamed a file of its own, and has synced what it put there.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
