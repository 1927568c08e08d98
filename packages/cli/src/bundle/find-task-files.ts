import { glob, readFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { BundleError } from "./bundle-error.ts";

const DEFAULT_PATTERNS = ["src/tasks/**/*.{ts,mts,js,mjs}", "tasks/**/*.{ts,mts,js,mjs}"];

/** Beside tasks in a folder, but none of them: declarations and tests. */
const NOT_A_TASK = /(\.d\.m?ts|\.(test|spec)\.m?[jt]s)$/;

type ProjectFile = { keelson?: { tasks?: unknown } };

/** The patterns of package.json's `"keelson": {"tasks": […]}`; without it, the files under `src/tasks` and `tasks`. */
async function readPatterns(directory: string): Promise<readonly string[]> {
  const path = join(directory, "package.json");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return DEFAULT_PATTERNS;
    throw new BundleError(`Cannot read ${path}: ${(error as Error).message}`, [], { cause: error });
  }
  let project: ProjectFile;
  try {
    project = JSON.parse(text) as ProjectFile;
  } catch (error) {
    throw new BundleError(`${path} is not JSON: ${(error as Error).message}`, [], { cause: error });
  }
  const patterns = project.keelson?.tasks;
  if (patterns === undefined) return DEFAULT_PATTERNS;
  if (!Array.isArray(patterns) || !patterns.every((pattern) => typeof pattern === "string")) {
    throw new BundleError(
      `${path}: "keelson.tasks" must be a list of file patterns, e.g. ["src/tasks/**/*.ts"]`,
      [],
    );
  }
  return patterns;
}

/** The project's task files, relative to its folder with `/` separators, sorted. Throws a BundleError when there are none. */
export async function findTaskFiles(directory: string): Promise<string[]> {
  const patterns = await readPatterns(directory);
  const files = new Set<string>();
  for await (const file of glob([...patterns], {
    cwd: directory,
    exclude: (name) => name.split(sep).includes("node_modules"),
  })) {
    if (!NOT_A_TASK.test(file)) files.add(file.split(sep).join("/"));
  }
  if (files.size === 0)
    throw new BundleError(`No task files in ${directory}: nothing matches ${patterns.join(", ")}`, []);
  return [...files].sort();
}
