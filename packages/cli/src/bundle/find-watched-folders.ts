import { readdir } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";

const MAGIC = /[*?[\]{}()!]/;

/** Of no interest to a pattern that does not name them: packages, and what tools keep for themselves. */
const isPassedOver = (name: string): boolean => name === "node_modules" || name.startsWith(".");

async function readFolders(directory: string, path: string): Promise<string[] | null> {
  try {
    const entries = await readdir(join(directory, path), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Not there yet, or removed meanwhile.
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}

/** The folder with which a pattern begins, and whether the folders in it matter too: `src/tasks` of `src/tasks/**`. */
function beginningOf(pattern: string): { base: string; isDeep: boolean } {
  const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
  const first = parts.findIndex((part) => MAGIC.test(part));
  const count = first === -1 ? parts.length - 1 : first;
  return {
    base: parts.slice(0, count).join("/") || ".",
    isDeep: parts.length > count + 1 || parts[count] === "**",
  };
}

const leadsOut = (pattern: string): boolean => isAbsolute(pattern) || pattern.split("/").includes("..");

/**
 * The folders of the project in which a new file may match one of the patterns, relative to `directory`. A pattern's folder
 * may not exist yet: then the nearest existing folder above is in the list.
 */
export async function findWatchedFolders(directory: string, patterns: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  const add = async (path: string, isDeep: boolean): Promise<boolean> => {
    const inner = await readFolders(directory, path);
    if (inner === null) return false;
    found.add(path);
    if (isDeep) for (const folder of inner) if (!isPassedOver(basename(folder))) await add(folder, isDeep);
    return true;
  };
  for (const pattern of patterns) {
    if (leadsOut(pattern)) continue;
    const { base, isDeep } = beginningOf(pattern);
    if (await add(base, isDeep)) continue;
    let above = dirname(base);
    while (!(await add(above, false)) && above !== ".") above = dirname(above);
  }
  return [...found];
}
