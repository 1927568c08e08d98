import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { CachedFolder } from "./decide-eviction.ts";

/** All folders of bundles in a data folder: those that only the agent reads, and those of each group of tasks. */
export async function listCachedFolders(dataDir: string): Promise<CachedFolder[]> {
  const groups = await namesIn(join(dataDir, "task-bundles"));
  const parents = [
    join(dataDir, "bundles", "placed"),
    ...groups.map((gid) => join(dataDir, "task-bundles", gid)),
  ];
  const folders: CachedFolder[] = [];
  for (const parent of parents)
    for (const name of await namesIn(parent)) {
      const folder = await readFolder(parent, name);
      if (folder !== null) folders.push(folder);
    }
  return folders;
}

/** Null when another agent has just removed it. */
async function readFolder(parent: string, name: string): Promise<CachedFolder | null> {
  const path = join(parent, name);
  const found = await lstat(path).catch(() => null);
  if (found === null) return null;
  const files = new Map<string, number>();
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = await lstat(join(entry.parentPath, entry.name)).catch(() => null);
    if (file !== null) files.set(`${file.dev}:${file.ino}`, file.size);
  }
  return { path, name, usedAt: found.mtimeMs, files };
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
