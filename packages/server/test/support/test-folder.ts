// A folder for what a test writes.

import { chmod, mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const PREFIX = "keelson-test-";
const ROOM_NEEDED_BYTES = 1024 ** 3;

/**
 * Makes an empty folder, which the test removes. Started by root, PostgreSQL runs as another account: it may pass through
 * this folder, which a folder of `mkdtemp` alone refuses.
 */
export async function makeTestFolder(): Promise<string> {
  const dir = await mkdtemp(path.join(await findParent(), `${PREFIX}${process.pid}-`));
  await chmod(dir, 0o711);
  return dir;
}

/** The process that made a folder of this name, or null when it is something else's. */
export function makerOfTestFolder(name: string): number | null {
  const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
  return Number.isInteger(pid) ? pid : null;
}

/** Memory, where there is enough: a sync costs nothing there. */
async function findParent(): Promise<string> {
  const memory = "/dev/shm";
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= ROOM_NEEDED_BYTES ? memory : tmpdir();
}
