import { glob, readFile, stat } from "node:fs/promises";
import { isAbsolute, join, sep } from "node:path";
import { BundleError } from "./bundle-error.ts";
import type { BundleFile } from "./archive-files.ts";

const EXECUTABLE = 0o111;

/**
 * The files that the configuration deploys as they are, relative to the project's folder, sorted. Packages are passed over
 * unless a pattern names `node_modules`. Throws a BundleError for a pattern that leads out of the project, or to nothing.
 */
export async function findAssets(directory: string, patterns: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const pattern of patterns) {
    if (isAbsolute(pattern) || pattern.split("/").includes(".."))
      throw new BundleError(`build.assets: ${JSON.stringify(pattern)} leads out of the project`, []);
    let isMatched = false;
    const exclude = pattern.includes("node_modules")
      ? {}
      : { exclude: (name: string) => name.split(sep).includes("node_modules") };
    for await (const file of glob(pattern, { cwd: directory, ...exclude })) {
      if ((await stat(join(directory, file))).isFile()) {
        isMatched = true;
        found.add(file.split(sep).join("/"));
      }
    }
    if (!isMatched)
      throw new BundleError(
        `build.assets: no file in ${directory} matches ${JSON.stringify(pattern)}. Add the file, or correct the pattern in the configuration.`,
        [],
      );
  }
  return [...found].sort();
}

/** A file of the project as the archive has it. */
export async function readBundleFile(file: string, path: string): Promise<BundleFile> {
  const [bytes, { mode }] = await Promise.all([readFile(file), stat(file)]);
  return { path, bytes, executable: (mode & EXECUTABLE) !== 0 };
}
