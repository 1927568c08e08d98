import { createHash } from "node:crypto";
import { chmod, mkdir, open, readdir, readFile, rm, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { nameFullDisk } from "../deaths/full-disk.ts";
import type { Logger } from "../log.ts";
import { endUser, listRunningUids } from "../sandboxes/find-processes.ts";
import type { UidRange } from "../sandboxes/sandbox.ts";
import type { SandboxUser } from "../sandboxes/sandbox-user.ts";
import { probeTaskUids } from "./probe-task-uids.ts";

/** Whom a task host runs as. */
export type TaskUser = { uid: number; gid: number };

export type TaskUsers = {
  /**
   * The user of a task host; null: the agent's own. A host whose run has a workspace is the owner of the workspace's files, in
   * the group of its environment.
   */
  of(environmentId: string, workspace: SandboxUser | null): Promise<TaskUser | null>;
};

/** All tasks run as the agent's user. */
export const AGENT_ALONE: TaskUsers = { of: () => Promise.resolve(null) };

export type TaskUsersOptions = {
  dataDir: string;
  /** The agent's own folder, which no other process uses. */
  agentFolder: string;
  logger: Logger;
};

/**
 * Gives each environment a uid that no other environment, agent or workspace of this machine has. Only an agent that runs as
 * root can. What an earlier process of the agent left running under such a uid is ended first.
 */
export async function openTaskUsers({ dataDir, agentFolder, logger }: TaskUsersOptions): Promise<TaskUsers> {
  if (process.getuid?.() !== 0) return AGENT_ALONE;
  await endFormer(await openClaims(dataDir), basename(agentFolder), logger);
  const { range, problem } = await probeTaskUids(agentFolder);
  if (range === null) {
    logger.warn(
      { problem },
      "tasks run as root: users of their own cannot start here. Tasks can read the agent's files and each other's.",
    );
    return AGENT_ALONE;
  }
  logger.info({ uids: range }, "the tasks of each environment run as a user of their own");
  const uidOf = await createUidClaims({ dataDir, agentFolder, range });
  return {
    of: async (environmentId, workspace) => {
      // Its commands run as the agent's user, so nothing would be won.
      if (workspace !== null && workspace.uid === null) return null;
      const gid = await uidOf(environmentId);
      return { uid: workspace?.uid ?? gid, gid };
    },
  };
}

/** What gives each environment a uid of the range that no other environment or agent has. */
export async function createUidClaims({
  dataDir,
  agentFolder,
  range,
}: Pick<TaskUsersOptions, "dataDir" | "agentFolder"> & { range: UidRange }): Promise<
  (environmentId: string) => Promise<number>
> {
  const folder = await openClaims(dataDir);
  const known = new Map<string, Promise<number>>();
  return (environmentId) => {
    const present = known.get(environmentId);
    if (present !== undefined) return present;
    const owner = `${basename(agentFolder)} ${environmentId}`;
    const claim = claimUid({ folder, range, owner, seed: agentFolder });
    known.set(environmentId, claim);
    claim.catch(() => known.delete(environmentId));
    return claim;
  };
}

async function openClaims(dataDir: string): Promise<string> {
  const folder = join(dataDir, "task-users");
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  return folder;
}

type Claim = { folder: string; range: UidRange; owner: string; seed: string };

/**
 * A file per uid says whose it is. The first uid depends on the owner alone, and each next one follows: an owner finds its
 * own again, and two agents that claim at once get two. The seed keeps agents of different data folders apart.
 */
async function claimUid({ folder, range, owner, seed }: Claim): Promise<number> {
  const first = createHash("sha256").update(`${seed}\n${owner}`).digest().readUInt32LE(0);
  for (let step = 0; step < range.count; step += 1) {
    const uid = range.first + ((first + step) % range.count);
    if (await isClaimed(join(folder, String(uid)), owner)) return uid;
  }
  throw new Error(`All ${range.count} uids for tasks are taken; see ${folder}.`);
}

async function isClaimed(path: string, owner: string): Promise<boolean> {
  let file: FileHandle;
  try {
    file = await open(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw nameFullDisk(error, dirname(path));
    // A claim that a crash cut short is nobody's, and stays taken.
    return (await readFile(path, "utf8")) === owner;
  }
  try {
    await file.writeFile(owner);
    await file.sync();
    return true;
  } catch (error) {
    await rm(path, { force: true });
    throw nameFullDisk(error, dirname(path));
  } finally {
    await file.close();
  }
}

async function endFormer(folder: string, agent: string, logger: Logger): Promise<void> {
  const running = listRunningUids();
  for (const name of await readdir(folder)) {
    const uid = Number(name);
    if (!running.has(uid) || !(await readFile(join(folder, name), "utf8")).startsWith(`${agent} `)) continue;
    const ended = endUser(uid);
    logger.warn({ uid, pids: ended }, "ended what tasks of a former process of the agent left running");
  }
}
