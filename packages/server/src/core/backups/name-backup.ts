import { mkdir, readdir, stat } from "node:fs/promises";
import path from "node:path";
import { BackupError } from "./backup.ts";

const NAME = /^keelson-\d{8}T\d{6}Z\.tar$/;

/** The file that a backup is written to: the one that is named, or one named by the time in a folder that is. A name with a slash at its end is a folder's. */
export async function nameBackup(place: string, now: number): Promise<string> {
  if (/[/\\]$/.test(place)) await makeFolder(place);
  if (!(await isFolder(place))) return place;
  const time = `${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
  return path.join(place, `keelson-${time}.tar`);
}

/**
 * The file that is named, or the newest backup of a folder that is.
 *
 * @throws BackupError when there is none.
 */
export async function findBackup(place: string): Promise<string> {
  const found = await isFolder(place);
  if (found === null) throw new BackupError(`There is no backup ${place}.`);
  if (!found) return place;
  const newest = (await readdir(place))
    .filter((name) => NAME.test(name))
    .toSorted()
    .at(-1);
  if (newest === undefined)
    throw new BackupError(`The folder ${place} has no backup (keelson-<time>.tar). Name the file.`);
  return path.join(place, newest);
}

async function makeFolder(place: string): Promise<void> {
  try {
    await mkdir(place, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST" && code !== "ENOTDIR") throw error;
    throw new BackupError(`${place} names a folder, and a file is there. Name another folder, or a file.`);
  }
}

/** Null when nothing is there. */
async function isFolder(place: string): Promise<boolean | null> {
  try {
    return (await stat(place)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
