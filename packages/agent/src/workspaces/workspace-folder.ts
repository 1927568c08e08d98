import { chmod, chown, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writePrivately } from "../protocol/worker-identity.ts";

/** Where one materialization has its files, and what a next process of the agent needs to go on with them. */
export type WorkspaceFolder = {
  path: string;
  /** The files themselves. */
  root: string;
  /** From here on the files may be gone on with. */
  markComplete(): Promise<void>;
  remove(): Promise<void>;
};

export type Owner = { uid: number; gid: number };

const STATE = "state.json";
/** Changes at each start of the machine, after which files that were not flushed may be cut short. */
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

const folderAt = (path: string): WorkspaceFolder => ({
  path,
  root: join(path, "files"),
  markComplete: async () => writePrivately(join(path, STATE), JSON.stringify({ boot: await readBoot() })),
  // Node refuses what is nested deeper than a path may be long; a folder that is left is removed at the next start.
  remove: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
});

const readBoot = (): Promise<string | null> =>
  readFile(BOOT_ID, "utf8").then(
    (text) => text.trim(),
    // Not on Linux.
    () => null,
  );

/** An empty folder, for a materialization that is new here. */
export async function createWorkspaceFolder(
  parent: string,
  name: string,
  owner: Owner | null,
): Promise<WorkspaceFolder> {
  const folder = folderAt(join(parent, name));
  await folder.remove();
  // Those who run in it pass through the folders above, and see nothing there.
  await mkdir(folder.path, { recursive: true, mode: 0o711 });
  await mkdir(folder.root, { mode: 0o700 });
  if (owner !== null) await chown(folder.root, owner.uid, owner.gid);
  return folder;
}

/**
 * Lets root's group enter the files' folder, and nobody else but their owner: a sandbox that root sets up changes into it
 * after it has given up the right to enter any folder. After the supervisor began, which makes the owner's group its own.
 */
export async function openToRoot({ root }: WorkspaceFolder, owner: Owner | null): Promise<void> {
  if (owner === null) return;
  await chown(root, owner.uid, 0);
  await chmod(root, 0o710);
}

/** The folder that an earlier process of this agent left complete since the machine started; null when there is none. */
export async function findWorkspaceFolder(parent: string, name: string): Promise<WorkspaceFolder | null> {
  const folder = folderAt(join(parent, name));
  try {
    const state = JSON.parse(await readFile(join(folder.path, STATE), "utf8")) as { boot?: unknown };
    return state.boot === (await readBoot()) ? folder : null;
  } catch {
    // Absent or cut short: it was not complete.
    return null;
  }
}

/** Everything that earlier processes left under the parent. */
export async function listWorkspaceFolders(
  parent: string,
): Promise<{ name: string; folder: WorkspaceFolder }[]> {
  await mkdir(parent, { recursive: true, mode: 0o711 });
  return (await readdir(parent)).map((name) => ({ name, folder: folderAt(join(parent, name)) }));
}
