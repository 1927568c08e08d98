import { glob } from "node:fs/promises";
import { sep } from "node:path";
import { readProjectConfig } from "../project/read-project-config.ts";
import { BundleError } from "./bundle-error.ts";

/** Where tasks are when the configuration names no patterns. */
export const DEFAULT_PATTERNS = ["src/tasks/**/*.{ts,mts,js,mjs}", "tasks/**/*.{ts,mts,js,mjs}"];

/** Beside tasks in a folder, but none of them: declarations and tests. */
const NOT_A_TASK = /(\.d\.m?ts|\.(test|spec)\.m?[jt]s)$/;

/**
 * The project's task files, relative to its folder with `/` separators, sorted: those of the configuration's patterns, else
 * what is under `src/tasks` and `tasks`. Throws a BundleError when there are none.
 */
export async function findTaskFiles(directory: string): Promise<string[]> {
  const { tasks, ...others } = await readProjectConfig(directory);
  const patterns = tasks ?? DEFAULT_PATTERNS;
  const files = new Set<string>();
  for await (const file of glob([...patterns], {
    cwd: directory,
    exclude: (name) => name.split(sep).includes("node_modules"),
  })) {
    if (!NOT_A_TASK.test(file)) files.add(file.split(sep).join("/"));
  }
  if (files.size === 0)
    throw new BundleError(
      `No task files in ${directory}: nothing matches ${patterns.join(", ")}. ${tasks === undefined && Object.keys(others).length === 0 ? "Go to the folder of your project, or run `keelson init` to add a first task." : 'Add a task file, or correct "tasks" in the configuration.'}`,
      [],
    );
  return [...files].sort();
}
