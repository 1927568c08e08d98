// Reads `postmaster.pid`, the file by which a PostgreSQL server claims its folder, and tells whether its server lives.
//
// The file is never deleted here: besides the process id it holds the key of the shared memory segment, by which a new
// server notices that backends of a killed one are still writing.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { chown, readFile, readlink, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

/** What the file says; see `src/include/utils/pidfile.h` of PostgreSQL for its lines. */
export interface PostmasterPid {
  readonly pid: number;
  readonly port: number;
  /** Folder of the unix socket; empty while the server is starting. */
  readonly socketDir: string;
  readonly status: "starting" | "stopping" | "ready" | "standby" | "";
}

export async function readPostmasterPid(clusterDir: string): Promise<PostmasterPid | null> {
  const text = await readFile(path.join(clusterDir, "postmaster.pid"), "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );
  if (text === null) return null;
  const lines = text.split("\n").map((line) => line.trim());
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return {
    pid,
    port: Number(lines[3] ?? 0),
    socketDir: lines[4] ?? "",
    status: (lines[7] ?? "") as PostmasterPid["status"],
  };
}

/**
 * Whether process `pid` is the server of this folder. A process id alone says little: after a reboot, or in a new
 * container, the same number is soon another program. A server's working directory is its cluster's folder.
 */
export async function isPostmasterOf(pid: number, clusterDir: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== "linux") return isCalledPostgres(pid);
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === clusterDir;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // It has ended since; or it is of another account, and not ours.
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES") return false;
    throw error;
  }
}

async function isCalledPostgres(pid: number): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", "comm=", "-p", String(pid)]);
    return path.basename(stdout.trim()) === "postgres";
  } catch (error) {
    if ((error as { code?: unknown }).code === 1) return false; // It has ended since.
    throw error;
  }
}

/**
 * Lets a new server start although a lock file names a process that is something else, or a zombie that nobody reaps (in
 * a container whose first process is not an init): PostgreSQL would refuse for ever. It ignores the id of its own parent,
 * so the first line is set to ours; everything else, above all the memory key, stays. An empty file, which a crash or a full
 * disk can leave, names nobody, and PostgreSQL would refuse it for ever too: it is removed. Only the owner of the folder may
 * call it.
 */
export async function disownStalePids(clusterDir: string, socketDir: string, port: string): Promise<void> {
  for (const file of [
    path.join(clusterDir, "postmaster.pid"),
    path.join(socketDir, `.s.PGSQL.${port}.lock`),
  ]) {
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (text === null) continue;
    if (text.trim() === "") {
      await rm(file, { force: true });
      continue;
    }
    const pid = Number(text.split("\n", 1)[0]);
    if (pid === process.pid || (await isPostmasterOf(pid, clusterDir))) continue;
    await replaceFile(file, text.replace(/^\s*\d+/, String(process.pid)));
  }
}

/** Whoever is interrupted leaves the old text or the new one, never half of it. It stays its owner's. */
async function replaceFile(file: string, text: string): Promise<void> {
  const { uid, gid, mode } = await stat(file);
  const beside = `${file}.new`;
  await writeFile(beside, text, { mode });
  await chown(beside, uid, gid);
  await rename(beside, file);
}

/** Whether there is a process of this number that has not ended; a zombie has. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  if (process.platform !== "linux") return true;
  try {
    // `pid (name) state …`; the name may hold anything, so the last parenthesis counts.
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return false;
    throw error;
  }
}
