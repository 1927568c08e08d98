import { readdirSync, readlinkSync, statfsSync, statSync } from "node:fs";

/** A place in memory where a sandbox's programs may write, and how much is there. */
export type TemporaryFolder = { device: number; bytes: number };

/** A file that has no name and lives as long as a program holds it. */
export type HeldFile = { key: string; device: number; bytes: number; isMemory: boolean };

const BLOCK_BYTES = 512;
const TEMPORARY = ["/tmp", "/dev/shm"];

/** As the kernel names a file in a list of mappings: `00:1a:1234`. */
export const fileKey = (device: number, inode: number): string => `${deviceKey(device)}:${inode}`;

export function deviceKey(device: number): string {
  const minor = (device & 0xff) | (Math.floor(device / 4096) & 0xfff00);
  return [(device >> 8) & 0xfff, minor].map((number) => number.toString(16).padStart(2, "0")).join(":");
}

const deviceOf = (path: string): number | null => statSync(path, { throwIfNoEntry: false })?.dev ?? null;

/** The folders in memory that a sandbox has for itself, seen through one of the processes inside. */
export function listTemporaryFolders(insidePids: readonly number[]): TemporaryFolder[] {
  for (const pid of insidePids) {
    try {
      return TEMPORARY.flatMap((path) => {
        const inside = `/proc/${pid}/root${path}`;
        const { dev } = statSync(inside);
        // While bubblewrap sets it up, these are still the machine's.
        if (dev === deviceOf(path)) return [];
        const { blocks, bfree, bsize } = statfsSync(inside);
        return [{ device: dev, bytes: (blocks - bfree) * bsize }];
      });
    } catch {
      // It has ended, or hides itself: another one shows the same.
    }
  }
  return [];
}

/** Files without a name that the process has open: memory made by `memfd_create`, and what was deleted while open. */
export function listHeldFiles(processFolder: string): HeldFile[] {
  let names: string[];
  try {
    names = readdirSync(`${processFolder}/fd`);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const path = `${processFolder}/fd/${name}`;
    try {
      const target = readlinkSync(path);
      const isMemory = target.startsWith("/memfd:");
      if (!isMemory && !target.endsWith(" (deleted)")) return [];
      const { dev, ino, nlink, blocks } = statSync(path);
      if (nlink > 0) return [];
      return [{ key: fileKey(dev, ino), device: dev, bytes: blocks * BLOCK_BYTES, isMemory }];
    } catch {
      return [];
    }
  });
}
