import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { findTaskFiles } from "../bundle/find-task-files.ts";

/** The task files of every project under `examples` that has a "keelson" section, relative to `directory`, sorted. */
export async function findExampleFiles(directory: string): Promise<string[]> {
  const folder = join(directory, "examples");
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const found = await Promise.all(
    names
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map(async (name) => {
        const text = await readFile(join(folder, name, "package.json"), "utf8").catch(() => null);
        if (text === null || (JSON.parse(text) as { keelson?: unknown }).keelson === undefined) return [];
        return (await findTaskFiles(join(folder, name))).map((file) => `examples/${name}/${file}`);
      }),
  );
  return found.flat();
}
