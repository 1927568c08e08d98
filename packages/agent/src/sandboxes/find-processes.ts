import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Set in the environment of everything that is started in a sandbox, to find what left its process group. */
export const PROCESS_MARK = "KEELSON_SANDBOX_PROCESS";

/**
 * All processes of an owner, which is a materialization or an agent with task hosts; or what one process of it started,
 * itself included.
 */
export type Marking = { owner: string; processId?: string; uid: number | null };

export const formatMark = (owner: string, processId: string): string => `${owner}/${processId}`;

export type ProcessFacts = {
  pid: number;
  ppid: number;
  group: number;
  session: number;
  /** Tasks of the kernel: limits of processes count these. */
  threads: number;
  /** In ticks since the machine started: with the pid it names one process. */
  startedAt: string;
};

function readProcFile(pid: number, name: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    // It has ended meanwhile, or is another user's: not one of ours in both cases.
    return null;
  }
}

function listPids(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    // A machine without /proc: only process groups are known there.
    return [];
  }
}

/** Every process of this machine that still runs, as far as /proc shows. */
export const listProcesses = (): ProcessFacts[] => listFacts(listPids());

/** One process; null when it does not run any more. */
export const findProcess = (pid: number): ProcessFacts | null => listFacts([pid])[0] ?? null;

/** Where the kernel names the children of a process, if it was built to: those that its first thread started. */
const childrenFile = (pid: number): string => `task/${pid}/children`;

/**
 * The running children of a process that has one thread. The kernel is asked for them: to look at every process of the
 * machine takes milliseconds. Where the kernel cannot be asked, every process is looked at.
 */
export function listChildren(parent: number): ProcessFacts[] {
  if (readProcFile(process.pid, childrenFile(process.pid)) === null)
    return listProcesses().filter(({ ppid }) => ppid === parent);
  const pids = readProcFile(parent, childrenFile(parent)) ?? "";
  return listFacts(pids.split(" ").filter(Boolean).map(Number));
}

function listFacts(pids: readonly number[]): ProcessFacts[] {
  return pids.flatMap((pid) => {
    const stat = readProcFile(pid, "stat") ?? "";
    // The name is in parentheses and may hold anything, parentheses too.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, ppid, group, session] = fields;
    const threads = Number(fields[17]);
    // A first thread may end before the others: only a process without any other is over.
    if (stat === "" || state === "X" || (state === "Z" && threads <= 1)) return [];
    const startedAt = fields[19] as string;
    return [{ pid, ppid: Number(ppid), group: Number(group), session: Number(session), threads, startedAt }];
  });
}

/** Null: a program is just being started in it, and its environment is not to be seen for an instant. */
export function isMarked(pid: number, { owner, processId, uid }: Marking): boolean | null {
  const mark = `${PROCESS_MARK}=${formatMark(owner, processId ?? "")}`;
  const environment = readProcFile(pid, "environ");
  const found = environment
    ?.split("\0")
    .some((entry) => (processId === undefined ? entry.startsWith(mark) : entry === mark));
  if (found === true) return true;
  // A uid of its own says so of everything in the materialization, whatever became of the environment.
  if (uid !== null && processId === undefined) {
    if (readUid(pid) === uid) return true;
  }
  return environment === "" ? null : false;
}

/** Looks again so often at what is between two programs. */
const LOOKS = 3;
/** The parent of the kernel's own threads, which have no environment. */
const KERNEL_PID = 2;

/** The running processes that bear the mark, or the materialization's own uid. */
export function findMarked(marking: Marking): number[] {
  const found: number[] = [];
  let unsure = listProcesses().filter(({ pid, ppid }) => pid !== KERNEL_PID && ppid !== KERNEL_PID);
  for (let look = 0; look < LOOKS && unsure.length > 0; look += 1) {
    unsure = unsure.filter(({ pid }) => {
      const isOurs = isMarked(pid, marking);
      if (isOurs === true) found.push(pid);
      return isOurs === null;
    });
  }
  return found;
}

const LOOKED_AT_ONCE = 64;

/**
 * The ids of an owner's processes that anything on this machine bears. Unlike the others here it gives way to other work
 * between looks, for a caller that does more than to end processes.
 */
export async function listBorneIds(owner: string): Promise<Set<string>> {
  const prefix = `${PROCESS_MARK}=${formatMark(owner, "")}`;
  const borne = new Set<string>();
  let unsure = listPids();
  // What has no environment is between two programs, or never has one: a kernel thread, or what has ended.
  for (let look = 0; look < LOOKS && unsure.length > 0; look += 1) {
    const pids = unsure;
    unsure = [];
    for (let at = 0; at < pids.length; at += 1) {
      if (at % LOOKED_AT_ONCE === 0) await nextTurn();
      const environment = readProcFile(pids[at] as number, "environ");
      if (environment === "") unsure.push(pids[at] as number);
      const entry = environment?.split("\0").find((text) => text.startsWith(prefix));
      if (entry !== undefined) borne.add(entry.slice(prefix.length));
    }
  }
  return borne;
}

/** Sends a signal; false when nothing was there to take it. A negative pid is a process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH" || code === "EPERM") return false;
    throw error;
  }
}

/** The uids that anything on this machine runs as. */
export function listRunningUids(): Set<number> {
  const uids = listPids().map((pid) => readUid(pid));
  return new Set(uids.filter((uid) => uid !== null));
}

function readUid(pid: number): number | null {
  const [, uid] = /^Uid:\t(\d+)\t/m.exec(readProcFile(pid, "status") ?? "") ?? [];
  return uid === undefined ? null : Number(uid);
}

/**
 * Kills everything that runs as a user at the time of the call. What forks meanwhile is stopped first. Nothing else of this
 * process happens between, so what it starts as that user afterwards is not met.
 *
 * @returns what was killed; none, as a rule.
 */
export function endUser(uid: number): number[] {
  const stopped = new Set<number>();
  for (;;) {
    const fresh = listProcesses().filter(({ pid }) => !stopped.has(pid) && readUid(pid) === uid);
    for (const { pid } of fresh) {
      stopped.add(pid);
      sendSignal(pid, "SIGSTOP");
    }
    if (fresh.length === 0) break;
  }
  for (const pid of stopped) sendSignal(pid, "SIGKILL");
  return [...stopped];
}

const ROUNDS = 1_000;
const ROUND_MS = 5;

/**
 * Kills what bears the mark until a look finds nothing; what forks meanwhile is stopped before anything is killed, so
 * that it cannot outrun the looking.
 *
 * @returns the processes that could not be ended; none, as a rule.
 */
export async function endMarked(marking: Marking): Promise<number[]> {
  const stopped = new Set<number>();
  for (;;) {
    const fresh = findMarked(marking).filter((pid) => !stopped.has(pid));
    for (const pid of fresh) {
      stopped.add(pid);
      sendSignal(pid, "SIGSTOP");
    }
    if (fresh.length === 0) break;
  }
  for (const pid of stopped) sendSignal(pid, "SIGKILL");
  let left = stopped.size === 0 ? [] : findMarked(marking);
  for (let round = 0; left.length > 0 && round < ROUNDS; round += 1) {
    for (const pid of left) sendSignal(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
    left = findMarked(marking);
  }
  return left;
}

/** Waits for a process that was told to end, and kills it when it does not; one with other arguments is another. */
export async function endProcess(pid: number, argument: string, graceMs: number): Promise<void> {
  const isAlive = (): boolean => (readProcFile(pid, "cmdline") ?? "").split("\0").includes(argument);
  for (let waitedMs = 0; isAlive(); waitedMs += ROUND_MS) {
    if (waitedMs >= graceMs) sendSignal(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
  }
}
