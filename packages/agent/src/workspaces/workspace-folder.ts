import { execFile } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { access, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { removeFolder, type Owner } from "@keelson/workspace-tree";
import { writePrivately } from "../protocol/worker-identity.ts";

/** Where one materialization has its files, and what a next process of the agent needs to go on with them. */
export type WorkspaceFolder = {
  path: string;
  /** The files themselves. */
  root: string;
  /** From here on the files may be gone on with. */
  markComplete(environmentId: string): void;
  /** Something is about to change the files that nobody does a second time. */
  markChanging(): Promise<void>;
  /** What it changed is in a version. */
  markUnchanged(): Promise<void>;
  /** It has files that no version has: from here on it is removed by nobody who was not told to. */
  guard(environmentId: string): Promise<void>;
  /** As `guard`, and what is in it is on the disk. */
  hold(environmentId: string): Promise<void>;
  /** A version has everything. */
  release(): Promise<void>;
  remove(): Promise<void>;
};

const STATE = "state.json";
/** There while no version has everything that is in the folder. */
const UNCOMMITTED = "uncommitted.json";
/** There while something changes the files, or has changed them since the last version. */
const CHANGING = "changing";
/** Changes at each start of the machine, after which files that were not flushed may be cut short. */
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

const folderAt = (path: string): WorkspaceFolder => ({
  path,
  root: join(path, "files"),
  markComplete: (environmentId) => {
    // In one go: many workspaces begin while others work, and each of these calls is short.
    const temporary = join(path, `${STATE}.partial`);
    writeFileSync(temporary, JSON.stringify({ boot: readBoot(), environmentId }), { mode: 0o600 });
    renameSync(temporary, join(path, STATE));
  },
  // In one call each, as `markComplete`: a command waits for the mark, and calls of the thread pool wait for pieces that are
  // compressed there. What is empty cannot be cut short.
  markChanging: () => attempt(() => writeFileSync(join(path, CHANGING), "", { mode: 0o600 })),
  markUnchanged: () => attempt(() => rmSync(join(path, CHANGING), { force: true })),
  guard: (environmentId) => markUncommitted(path, { environmentId, isFlushed: false }),
  hold: async (environmentId) => {
    // Its own file system alone; where there is no such command, a restart of the machine may cut files short.
    await promisify(execFile)("sync", ["-f", path]).catch(() => undefined);
    await markUncommitted(path, { environmentId, isFlushed: true });
  },
  release: () => rm(join(path, UNCOMMITTED), { force: true }),
  remove: () => removeFolder(path),
});

const attempt = (work: () => void): Promise<void> => Promise.resolve().then(work);

export type UncommittedMark = { environmentId: string; isFlushed: boolean };

const markUncommitted = (path: string, mark: UncommittedMark): Promise<void> =>
  writePrivately(join(path, UNCOMMITTED), JSON.stringify(mark));

/** What says that the folder has files that no version has; null when it does not. */
export async function findUncommittedMark(path: string): Promise<UncommittedMark | null> {
  try {
    return JSON.parse(await readFile(join(path, UNCOMMITTED), "utf8")) as UncommittedMark;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Whether it may have what no version has. Unknown counts as yes: it was there, and could not be looked at. */
export const mayHaveChanges = async (path: string): Promise<boolean> =>
  (await findUncommittedMark(path)) !== null ||
  access(join(path, CHANGING)).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );

/** The environment of a folder whose files may be gone on with; null when there is none. */
export async function findEnvironment(path: string): Promise<string | null> {
  const mark = await findUncommittedMark(path);
  if (mark !== null) return mark.environmentId;
  const state = await readState(path);
  return state !== null && state.boot === readBoot() ? (state.environmentId ?? null) : null;
}

/** Null when it is absent or cut short: the folder was not complete. */
const readState = (path: string): Promise<{ boot: unknown; environmentId?: string } | null> =>
  readFile(join(path, STATE), "utf8").then(
    (text) => JSON.parse(text) as { boot: unknown; environmentId?: string },
    () => null,
  );

function readBoot(): string | null {
  try {
    return readFileSync(BOOT_ID, "utf8").trim();
  } catch {
    // Not on Linux.
    return null;
  }
}

/** An empty folder, for a materialization that is new here. */
export async function createWorkspaceFolder(
  parent: string,
  name: string,
  owner: Owner | null,
): Promise<WorkspaceFolder> {
  const folder = folderAt(join(parent, name));
  await folder.remove();
  // Those who run in it pass through the folders above, and see nothing there.
  mkdirSync(folder.path, { recursive: true, mode: 0o711 });
  mkdirSync(folder.root, { mode: 0o700 });
  if (owner !== null) chownSync(folder.root, owner.uid, owner.gid);
  return folder;
}

/**
 * Lets root's group enter the files' folder, and nobody else but their owner: a sandbox that root sets up changes into it
 * after it has given up the right to enter any folder. After the files were given to the sandbox, which makes the owner's group
 * theirs, and before anything runs in it.
 */
export function openToRoot({ root }: WorkspaceFolder, owner: Owner | null): void {
  if (owner === null) return;
  chownSync(root, owner.uid, 0);
  chmodSync(root, 0o710);
}

/**
 * The folder that an earlier process of this agent left complete since the machine started, or in quarantine; null when there
 * is none.
 */
export async function findWorkspaceFolder(parent: string, name: string): Promise<WorkspaceFolder | null> {
  const folder = folderAt(join(parent, name));
  const state = await readState(folder.path);
  if (state === null) return null;
  if (state.boot === readBoot()) return folder;
  return (await findUncommittedMark(folder.path))?.isFlushed === true ? folder : null;
}

/** Everything that earlier processes left under the parent. */
export async function listWorkspaceFolders(
  parent: string,
): Promise<{ name: string; folder: WorkspaceFolder }[]> {
  await mkdir(parent, { recursive: true, mode: 0o711 });
  return (await readdir(parent)).map((name) => ({ name, folder: folderAt(join(parent, name)) }));
}
