import { randomBytes } from "node:crypto";
import { chownSync, mkdirSync, rmSync } from "node:fs";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeFolder } from "@keelson/workspace-tree";
import { nameFullDisk } from "../deaths/full-disk.ts";
import type { Logger } from "../log.ts";
import { endMarked, endUser, formatMark, PROCESS_MARK } from "../sandboxes/find-processes.ts";
import { createLeftoverSweep } from "./leftover-sweep.ts";
import type { TaskUser } from "./task-users.ts";

/** The folders of one task host, and what tells what it started from everything else on the machine. */
export type HostHome = {
  id: string;
  /** Holds the others. */
  path: string;
  /** Its working directory, empty at its start. */
  work: string;
  /** Whom the folders belong to. Null: the agent's own user. */
  user: TaskUser | null;
  environment: { TMPDIR: string } & Record<string, string>;
};

export type HostHomes = {
  /** In the environment of everything that any host of this agent started. */
  mark: string;
  /** Makes the folders of a new host; its HOME is one of them when it has another user, or does not see the agent's. */
  create(user: TaskUser | null, isIsolated: boolean): HostHome;
  /** After the host has ended: ends what it left running, then removes its folders. */
  clear(home: HostHome): Promise<void>;
};

const OWNER = /^[0-9a-f]{12}$/;

/**
 * Folders of task hosts below one that nobody else uses. What an earlier process of the agent left there is ended and
 * removed first; what cannot be is logged, and tried again at the next start.
 */
export async function openHostHomes(path: string, logger: Logger): Promise<HostHomes> {
  await mkdir(path, { recursive: true });
  const warn = (folder: string) => (err: unknown) =>
    logger.warn({ err, folder }, "a folder of a task host could not be removed");
  for (const name of await readdir(path)) {
    if (OWNER.test(name)) await endMarked({ owner: name, uid: null });
    await removeFolder(join(path, name)).catch(warn(join(path, name)));
  }
  // Of this process alone: what ends the leftovers of an earlier one must not meet those of this.
  const owner = randomBytes(6).toString("hex");
  const sweep = createLeftoverSweep(owner);
  // Hosts of other users pass through the folders above theirs, and see nothing there.
  await mkdir(join(path, owner));
  for (const folder of [path, join(path, owner)]) await chmod(folder, 0o711);
  const users = createUserCount();
  let last = 0;
  return {
    mark: `${PROCESS_MARK}=${formatMark(owner, "")}`,
    create(user, isIsolated) {
      last += 1;
      const id = String(last);
      const own = join(path, owner, id);
      const [work, tmp, userHome] = [join(own, "work"), join(own, "tmp"), join(own, "home")];
      const hasHome = user !== null || isIsolated;
      const folders = [own, work, tmp, ...(hasHome ? [userHome] : [])];
      try {
        for (const folder of folders) mkdirSync(folder, { mode: 0o700 });
        // What is above last: from then on processes of the user may swap names in it.
        if (user !== null) for (const folder of folders.toReversed()) chownSync(folder, user.uid, user.gid);
      } catch (error) {
        rmSync(own, { recursive: true, force: true });
        throw nameFullDisk(error, path);
      }
      users.add(user);
      const environment = {
        ...{ TMPDIR: tmp, [PROCESS_MARK]: formatMark(owner, id) },
        ...(hasHome ? { HOME: userHome } : {}),
      };
      return { id, path: own, work, user, environment };
    },
    async clear({ id, path: own, user }) {
      const left = await sweep(id);
      const unused = users.remove(user);
      // What bears no mark any more. Of one look on, so that no host of the user can begin meanwhile.
      if (unused !== null) endUser(unused);
      if (left.length > 0) logger.error({ pids: left }, "processes that a task left could not be ended");
      await removeFolder(own).catch(warn(own));
    },
  };
}

/** How many hosts each user has, whose uid is an environment's own. */
function createUserCount(): {
  add(user: TaskUser | null): void;
  remove(user: TaskUser | null): number | null;
} {
  const counts = new Map<number, number>();
  // The uid of a workspace is its commands', too: what is left under that ends with the workspace.
  const ownUid = (user: TaskUser | null): number | null =>
    user !== null && user.uid === user.gid ? user.uid : null;
  return {
    add(user) {
      const uid = ownUid(user);
      if (uid !== null) counts.set(uid, (counts.get(uid) ?? 0) + 1);
    },
    /** The uid that no host has any more. */
    remove(user) {
      const uid = ownUid(user);
      if (uid === null) return null;
      const count = (counts.get(uid) ?? 0) - 1;
      counts.set(uid, count);
      if (count > 0) return null;
      counts.delete(uid);
      return uid;
    },
  };
}
