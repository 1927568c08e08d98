import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { readSource, resolveImport, type RepositoryFile, type Source } from "./read-source.ts";

/** What every check gets: the files, the parsed sources, and how imports resolve. */
export interface Repository {
  readonly files: readonly RepositoryFile[];
  readonly sources: readonly Source[];
  resolve(from: string, specifier: string): string | null;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  /** What is wrong and what to do, in one sentence. */
  readonly message: string;
}

const SOURCE = /^(packages|scripts|bench|examples)\/.*\.(ts|tsx|mts|mjs|js)$/;
const SKIPPED_FOLDERS = new Set([".git", "node_modules", "dist", "coverage", ".keelson", "report"]);

/** Builds the view of the checks from files in memory. */
export function buildRepository(files: readonly RepositoryFile[]): Repository {
  const paths = new Set(files.map((file) => file.path));
  const workspaces = readWorkspaces(files);
  return {
    files,
    sources: files.filter((file) => SOURCE.test(file.path)).map((file) => readSource(file)),
    resolve: (from, specifier) => resolveImport(from, specifier, paths, workspaces),
  };
}

/** Reads every text file of the repository that git tracks or would track. */
export function readRepository(root: string): Repository {
  const files: RepositoryFile[] = [];
  for (const path of listFiles(root)) {
    const text = readFileSync(join(root, path), "utf8");
    if (!text.includes("\0")) files.push({ path, text });
  }
  return buildRepository(files);
}

/** Without git (an unpacked archive) the folder itself is the list, less what a build leaves behind. */
function listFiles(root: string): string[] {
  try {
    const arguments_ = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const listed = execFileSync("git", arguments_, {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return listed.split("\0").filter((path) => path !== "" && isFile(join(root, path)));
  } catch (error) {
    if (isFile(join(root, ".git")) || readdirSync(root).includes(".git")) {
      throw new Error("git could not list the files of this checkout", { cause: error });
    }
    return listFolder(root, "");
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function listFolder(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : listFolder(root, path);
    return entry.isFile() ? [path] : [];
  });
}

interface Manifest {
  readonly name?: string;
  readonly exports?: Readonly<Record<string, { readonly "@keelson/source"?: string }>>;
}

function readWorkspaces(files: readonly RepositoryFile[]): Map<string, string> {
  const workspaces = new Map<string, string>();
  for (const { path, text } of files) {
    if (!/^packages\/[^/]+\/package\.json$/.test(path)) continue;
    const manifest = JSON.parse(text) as Manifest;
    for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
      const source = target["@keelson/source"];
      if (manifest.name === undefined || source === undefined) continue;
      workspaces.set(posix.join(manifest.name, subpath), posix.join(posix.dirname(path), source));
    }
  }
  return workspaces;
}
