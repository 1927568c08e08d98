import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

export const root = path.resolve(import.meta.dirname, "../..");
/** Where the tarballs are put, and the folders that they are made from. */
export const TARBALLS = path.join(root, "dist/tarballs");
const STAGING = path.join(root, "dist/staging");

export type PackageFile = {
  name?: string;
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
};

/** `package.json` of a folder of the repository. */
export const readPackage = (folder: string): PackageFile =>
  JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8")) as PackageFile;

/** An empty folder to put a package together in, with the licence in it. */
export function openStaging(name: string): string {
  const folder = path.join(STAGING, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(path.join(root, "LICENSE"), path.join(folder, "LICENSE"));
  return folder;
}

/** What all published packages say of themselves. */
const COMMON = {
  license: "Apache-2.0",
  type: "module",
  engines: { node: ">=20" },
};

export function writePackageFile(folder: string, content: Record<string, unknown>): void {
  const file = { ...content, ...COMMON };
  writeFileSync(path.join(folder, "package.json"), `${JSON.stringify(file, null, 2)}\n`);
}

/** Makes the tarball of a folder and returns its path. */
export function packFolder(folder: string): string {
  mkdirSync(TARBALLS, { recursive: true });
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", TARBALLS];
  const { status, stdout, stderr, error } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
  if (error || status !== 0) throw new Error(`npm pack failed in ${folder}: ${error?.message ?? stderr}`);
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>);
  if (packed === undefined) throw new Error(`npm pack reported no file for ${folder}`);
  return path.join(TARBALLS, path.basename(packed.filename));
}
