import { statfs } from "node:fs/promises";
import { InfrastructureError } from "./death.ts";

/** As Node.js says it, or as a process of ours printed it. */
const FULL = /\b(ENOSPC|EDQUOT)\b/;

/** The error, or what caused it, is that the disk has no room. */
function isFull(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    FULL.test(String((error as NodeJS.ErrnoException).code)) ||
    FULL.test(error.message) ||
    isFull(error.cause)
  );
}

/** What to throw for an error of something that writes into the folder: the system does not always say which is full. */
export const nameFullDisk = (error: unknown, folder: string): unknown =>
  isFull(error) && !(error instanceof InfrastructureError) ? fullDisk(folder, error.message, error) : error;

/**
 * For what ended without saying why, and writes into the folder.
 *
 * @throws InfrastructureError when its disk is full
 */
export async function requireRoom(folder: string): Promise<void> {
  const { bavail, files, ffree } = await statfs(folder);
  if (bavail === 0) throw fullDisk(folder, "no bytes are left");
  // Some file systems count no files.
  if (files > 0 && ffree === 0) throw fullDisk(folder, "no inodes are left");
}

const fullDisk = (folder: string, reason: string, cause?: Error): InfrastructureError =>
  new InfrastructureError(
    `The worker's disk is full: ${folder} has no room (${reason}). Free space or inodes there; the worker then continues automatically.`,
    { cause },
  );
