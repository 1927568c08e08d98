import { rmSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isClaimed } from "../agent-folder.ts";

/** Which bundles are used, by digest: leases, deployment checks, downloads and task hosts each hold theirs. */
export type BundleUses = {
  /** Keeps the bundle from eviction until the returned function is called. */
  hold(digest: string): () => void;
  /** Tells the other agents of the data folder that a bundle is held here. Call it while you hold the bundle. */
  announce(digest: string): Promise<void>;
  isAnnounced(digest: string): boolean;
  isHeld(digest: string): boolean;
  /** Whether any running agent of the data folder uses the bundle. */
  isUsed(digest: string): Promise<boolean>;
};

const FOLDER = "bundle-uses";

/**
 * Opens the counts of this agent. Agents that share a data folder see each other's uses as empty files in the folder that each
 * agent has claimed: the files of an agent that has ended count no longer.
 */
export async function openBundleUses(agentFolder: string): Promise<BundleUses> {
  const own = join(agentFolder, FOLDER);
  // A killed process leaves its files.
  await rm(own, { recursive: true, force: true });
  await mkdir(own, { recursive: true, mode: 0o700 });
  const counts = new Map<string, number>();
  const announced = new Set<string>();

  const leave = (digest: string): void => {
    const count = (counts.get(digest) ?? 0) - 1;
    if (count > 0) return void counts.set(digest, count);
    counts.delete(digest);
    // At once: a file that is removed later could be that of the next use.
    if (announced.delete(digest)) rmSync(join(own, digest), { force: true });
  };

  return {
    hold: (digest) => {
      counts.set(digest, (counts.get(digest) ?? 0) + 1);
      let isLeft = false;
      return () => {
        if (!isLeft) leave(digest);
        isLeft = true;
      };
    },
    announce: async (digest) => {
      await writeFile(join(own, digest), "");
      announced.add(digest);
    },
    isAnnounced: (digest) => announced.has(digest),
    isHeld: (digest) => counts.has(digest),
    isUsed: async (digest) => counts.has(digest) || (await isUsedElsewhere(agentFolder, digest)),
  };
}

async function isUsedElsewhere(agentFolder: string, digest: string): Promise<boolean> {
  const agents = join(agentFolder, "..");
  for (const name of await readdir(agents)) {
    const other = join(agents, name);
    if (other === agentFolder) continue;
    const uses = await readdir(join(other, FOLDER)).catch((): string[] => []);
    if (uses.includes(digest) && (await isClaimed(other))) return true;
  }
  return false;
}
