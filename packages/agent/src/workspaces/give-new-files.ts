import { lchown, lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { Owner } from "./workspace-folder.ts";

/**
 * Makes the workspace's own user the owner of what its runs wrote by path, as the agent's user: its commands may then
 * change it. What is theirs already is left alone, and what goes meanwhile is of no matter.
 */
export async function giveNewFiles(folder: string, owner: Owner): Promise<void> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    try {
      if ((await lstat(path)).uid !== owner.uid) await lchown(path, owner.uid, owner.gid);
      if (entry.isDirectory()) await giveNewFiles(path, owner);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}
