// Reads `postmaster.pid`, the file by which a PostgreSQL server claims its folder, and tells whether its server lives.
//
// The file is never deleted here: besides the process id it holds the key of the shared memory segment, by which a new
// server notices that backends of a killed one are still writing.

import { readFile, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** What the file says; see `src/include/utils/pidfile.h` of PostgreSQL for its lines. */
export interface PostmasterPid {
  readonly pid: number;
  readonly port: number;
  /** Folder of the unix socket; empty while the server is starting. */
  readonly socketDir: string;
  readonly status: 'starting' | 'stopping' | 'ready' | 'standby' | '';
}

export async function readPostmasterPid(clusterDir: string): Promise<PostmasterPid | null> {
  const text = await readFile(path.join(clusterDir, 'postmaster.pid'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return { pid, port: Number(lines[3] ?? 0), socketDir: lines[4] ?? '', status: (lines[7] ?? '') as PostmasterPid['status'] };
}

/**
 * Whether process `pid` is the server of this folder. A process id alone says little: after a reboot, or in a new
 * container, the same number is soon another program. A server's working directory is its cluster's folder.
 */
export async function isPostmasterOf(pid: number, clusterDir: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  try {
    return (await readlink(`/proc/${pid}/cwd`)) === clusterDir;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A zombie has no working directory; a process of another account does not show it, and is not ours.
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return false;
    throw error;
  }
}

/**
 * When the file names a live process that is something else, PostgreSQL would refuse to start for ever. It ignores the
 * id of its own parent, so the first line is set to ours; everything else, above all the memory key, stays.
 */
export async function disownForeignPid(clusterDir: string): Promise<void> {
  const file = path.join(clusterDir, 'postmaster.pid');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/^\s*\d+/, String(process.pid)));
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
