// A folder for what a test writes.

import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { letPass } from "./until.ts";

const run = promisify(execFile);

const PREFIX = "keelson-test-";
const ROOM_NEEDED_BYTES = 1024 ** 3;
const REMOVAL_ATTEMPTS = 40;
const REMOVAL_INTERVAL_MS = 50;

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

/** The folder that the run gave this file; else memory, where there is enough: a sync costs nothing there. */
async function findParent(): Promise<string> {
  const given = process.env["KEELSON_TEST_MEMORY"];
  if (given !== undefined) return given;
  const memory = "/dev/shm";
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= ROOM_NEEDED_BYTES ? memory : tmpdir();
}

/**
 * Removes a test's folder with all in it, also disks that a killed test left mounted there. Processes that are ending may
 * still write into it for two seconds. The retries of `rm` itself would not do: each folder of a tree has its own, so that
 * what cannot be removed five levels down keeps it busy for hours.
 */
export async function removeTestFolder(folder: string): Promise<void> {
  await unmountIn(folder);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rm(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      // Node.js removes by whole paths, which a workspace's folders can be too deep for.
      if ((error as NodeJS.ErrnoException).code === "ENAMETOOLONG") await run("rm", ["-rf", "--", folder]);
      else if (attempt === REMOVAL_ATTEMPTS) throw error;
      else await letPass(REMOVAL_INTERVAL_MS, "whoever writes there ends");
    }
  }
}

async function unmountIn(folder: string): Promise<void> {
  const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  const places = mounts.split("\n").flatMap((line) => line.split(" ")[1] ?? []);
  // A later one may lie in an earlier one.
  for (const place of places.filter((found) => found.startsWith(`${folder}/`)).toReversed()) {
    await run("umount", ["-l", place]);
  }
}
