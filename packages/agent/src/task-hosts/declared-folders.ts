import { constants } from "node:fs";
import { open, readlink, realpath, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type { TaskFolder } from "@keelson/contract";
import { HOST_ENTRY } from "./host-process.ts";
import type { TaskUser } from "./task-users.ts";

/** Names a folder without opening it: its user may lack the right to list it. Node has no name for this. */
const O_PATH = 0o10000000;
const MAY_ENTER = 0o1;

/** A declared folder that this machine has. */
export type FoundFolder = Required<TaskFolder> & {
  /** What the path named when it was looked at: the process compares it with what it sees there. */
  identity: string;
};

/** This worker cannot give a task a folder that it declares. The message says which, why, and what to do. */
export class FolderUnavailable extends Error {
  override readonly name = "FolderUnavailable";

  constructor(path: string, reason: string) {
    super(`The task declares the folder ${path}, which ${reason}`);
  }
}

/**
 * Looks at the folders that a task declares. Each is opened once and asked for its own name, so that nobody who swaps names
 * meanwhile makes the task see another one.
 *
 * @param user the task's own; null: the agent's.
 * @throws FolderUnavailable
 */
export async function findFolders(
  folders: readonly TaskFolder[],
  { dataDir, user }: { dataDir: string; user: TaskUser | null },
): Promise<FoundFolder[]> {
  if (folders.length === 0) return [];
  const [data, ...programs] = await Promise.all(
    [dataDir, HOST_ENTRY, process.execPath].map((p) => realpath(p)),
  );
  const found: FoundFolder[] = [];
  for (const { path, writable = false } of folders) {
    const identity = await identify(path);
    if (isWithin(path, data as string) || isWithin(data as string, path))
      throw new FolderUnavailable(path, "holds files of the agent. Declare another folder.");
    if (writable && programs.some((program) => isWithin(program, path)))
      throw new FolderUnavailable(path, "holds the agent's program. Declare a folder below it as writable.");
    if (user !== null) await requireWay(path, user);
    found.push({ path, writable, identity });
  }
  return found;
}

const isWithin = (path: string, folder: string): boolean => `${path}/`.startsWith(`${folder}/`);

async function identify(path: string): Promise<string> {
  let held: FileHandle;
  try {
    held = await open(path, O_PATH | constants.O_DIRECTORY);
  } catch (error) {
    throw new FolderUnavailable(path, reasonOf((error as NodeJS.ErrnoException).code));
  }
  try {
    if ((await readlink(`/proc/self/fd/${held.fd}`)) !== path)
      throw new FolderUnavailable(
        path,
        "is a link on this worker, or below one. Declare the path without links.",
      );
    const { dev, ino } = await held.stat({ bigint: true });
    return `${dev}:${ino}`;
  } finally {
    await held.close();
  }
}

function reasonOf(code: string | undefined): string {
  switch (code) {
    case "ENOENT":
      return "this worker does not have. Create it there, or remove it from the task's folders.";
    case "ENOTDIR":
      return "is not a folder on this worker. Declare the folder that holds it.";
    default:
      return `this worker's agent cannot open (${code}). Let its user enter the folders above it.`;
  }
}

/** Another user than the agent's must get there by its own rights, as it would without a sandbox. */
async function requireWay(path: string, { uid, gid }: TaskUser): Promise<void> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const found = await stat(folder);
    const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0;
    if (((found.mode >> shift) & MAY_ENTER) === 0)
      throw new FolderUnavailable(
        path,
        `the task's user cannot reach on this worker. Run chmod o+x ${folder} there.`,
      );
    if (folder === dirname(folder)) return;
  }
}
