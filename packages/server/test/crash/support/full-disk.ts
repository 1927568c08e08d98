// A small disk in place of a folder, as only root can make one.

import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";

/** Null where none can be mounted. */
export async function mountSmallDisk(folder: string, bytes: number): Promise<{ unmount(): void } | null> {
  if (process.getuid?.() !== 0) return null;
  await mkdir(folder, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    // A container without the right to.
    return null;
  }
  return { unmount: () => execFileSync("umount", ["-l", folder]) };
}
