import { randomBytes } from "node:crypto";
import { chmod, copyFile, link, lstat, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasDigest } from "./stored-file.ts";

const MAY_NOT_LINK = ["EPERM", "EXDEV", "EMLINK", "ENOTSUP", "EOPNOTSUPP"];
const IS_THERE = ["ENOTEMPTY", "EEXIST"];
const READ_ONLY = 0o444;
const RUNNABLE = 0o555;

/** A stored file, and where a bundle has it: `path` is relative and stays inside of any folder. */
export type PlacedFile = { path: string; stored: string; digest: string; executable: boolean };

export const modeOf = (executable: boolean): number => (executable ? RUNNABLE : READ_ONLY);

/**
 * Makes a folder of stored files, all or nothing, unless it is there and whole. Folders with the same files share the bytes
 * where the disk has hard links. Nobody but this process's user can change them. No link is ever followed: each folder is made
 * by this call, and each file gets a name that was not there.
 */
export async function placeFiles(folder: string, files: readonly PlacedFile[]): Promise<void> {
  if (await isWhole(folder, files)) return;
  const own = `${folder}.${randomBytes(6).toString("hex")}`;
  const [making, old] = [`${own}.partial`, `${own}.old`];
  try {
    await make(making, files);
    // What is there lacks something, or has other bytes.
    await rename(folder, old).catch(ignoreMissing);
    await rename(making, folder).catch((error: NodeJS.ErrnoException) => {
      // Another agent that shares the data folder was quicker.
      if (!IS_THERE.includes(error.code ?? "")) throw error;
    });
  } finally {
    await Promise.all([making, old].map((path) => rm(path, { recursive: true, force: true })));
  }
}

async function make(folder: string, files: readonly PlacedFile[]): Promise<void> {
  const made = new Set<string>();
  const makeFolder = async (path: string): Promise<void> => {
    if (made.has(path)) return;
    if (path !== folder) await makeFolder(dirname(path));
    await mkdir(path);
    // Code lists folders of its assets. The root, as the folder above it, is only passed through.
    await chmod(path, path === folder ? 0o711 : 0o755);
    made.add(path);
  };
  await makeFolder(folder);
  for (const file of files) {
    const path = join(folder, file.path);
    await makeFolder(dirname(path));
    await linkOrCopy(file, path);
  }
}

async function linkOrCopy({ stored, executable }: PlacedFile, path: string): Promise<void> {
  try {
    await link(stored, path);
  } catch (error) {
    if (!MAY_NOT_LINK.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    await copyFile(stored, path);
    await chmod(path, modeOf(executable));
  }
}

/** Whether each file is there with its bytes, and is no link to elsewhere. */
export async function isWhole(folder: string, files: readonly PlacedFile[]): Promise<boolean> {
  for (const { path, stored, digest } of files) {
    const placed = join(folder, path);
    const [there, original] = await Promise.all([lstatOrNull(placed), lstatOrNull(stored)]);
    if (!there?.isFile()) return false;
    const isLinked = original !== null && there.ino === original.ino && there.dev === original.dev;
    if (!isLinked && !(await hasDigest(placed, digest))) return false;
  }
  return files.length > 0;
}

const lstatOrNull = (path: string) =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    throw error;
  });

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "ENOENT") throw error;
};
