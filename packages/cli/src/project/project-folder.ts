import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const CONFIG_FILES = ["ts", "mts", "js", "mjs"].map((extension) => `keelson.config.${extension}`);

/** The project's configuration file, or null when the folder has none. */
export function findConfigFile(folder: string): string | null {
  const name = CONFIG_FILES.find((file) => existsSync(join(folder, file)));
  return name === undefined ? null : join(folder, name);
}

/** Whether a package.json says where the tasks are: `"keelson": {…}`. What is no JSON is told of when it is read for that. */
function hasSection(folder: string): boolean {
  try {
    const text = readFileSync(join(folder, "package.json"), "utf8");
    return (JSON.parse(text) as { keelson?: unknown } | null)?.keelson !== undefined;
  } catch {
    return false;
  }
}

/** The project that a folder is in: the nearest folder, from this one upwards, with a configuration. Null without one. */
export function findProjectFolder(cwd: string): string | null {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (findConfigFile(folder) !== null || hasSection(folder)) return folder;
    if (dirname(folder) === folder) return null;
  }
}

/** The folder that was named, else the project that the current folder is in, else the current folder. */
export const projectFolder = (cwd: string, named: string | undefined): string =>
  named === undefined ? (findProjectFolder(cwd) ?? cwd) : resolve(cwd, named);
