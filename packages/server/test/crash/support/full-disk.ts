// A small disk in place of a folder, as only root can make one, and what fills it.

import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { appendFile, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** Null where none can be mounted. */
export async function mountSmallDisk(
  folder: string,
  bytes: number,
  inodes?: number,
): Promise<{ folder: string; unmount(): void } | null> {
  if (process.getuid?.() !== 0) return null;
  await mkdir(folder, { recursive: true });
  const size = `size=${bytes}${inodes === undefined ? "" : `,nr_inodes=${inodes}`}`;
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", size, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    // A container without the right to.
    return null;
  }
  return { folder, unmount: () => execFileSync("umount", ["-l", folder]) };
}

const isFull = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOSPC";

/** Takes what is left of the disk, but for what is smaller than a page; `free` gives it back. */
export async function fill(folder: string): Promise<{ free(): Promise<void> }> {
  const file = path.join(folder, "ballast");
  for (const size of [1 << 20, 4096]) {
    const bytes = Buffer.alloc(size, 1);
    while (statfsSync(folder).bavail * statfsSync(folder).bsize >= size) {
      try {
        await appendFile(file, bytes);
      } catch (error) {
        if (isFull(error)) break;
        throw error;
      }
    }
  }
  return { free: () => rm(file) };
}

/** Takes all the files that the disk can still have; `free` gives them back. */
export async function fillInodes(folder: string): Promise<{ free(): Promise<void> }> {
  const ballast = path.join(folder, "ballast");
  await mkdir(ballast);
  for (let n = 0; ; n += 1) {
    try {
      await writeFile(path.join(ballast, String(n)), "");
    } catch (error) {
      if (isFull(error)) return { free: () => rm(ballast, { recursive: true }) };
      throw error;
    }
  }
}
