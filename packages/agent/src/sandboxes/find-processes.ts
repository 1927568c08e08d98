import { readdirSync, readFileSync } from "node:fs";

/** Set in the environment of everything that is started in a sandbox, to find what left its process group. */
export const PROCESS_MARK = "KEELSON_SANDBOX_PROCESS";

/** Of one materialization, or with the id of one process in it. */
export type Marking = { materializationId: string; processId?: string; uid: number | null };

export const formatMark = (materializationId: string, processId: string): string =>
  `${materializationId}/${processId}`;

type ProcessFacts = { pid: number; ppid: number; group: number; session: number };

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
export function listProcesses(): ProcessFacts[] {
  return listPids().flatMap((pid) => {
    const stat = readProcFile(pid, "stat") ?? "";
    // The name is in parentheses and may hold anything, parentheses too.
    const [state, ppid, group, session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (stat === "" || state === "Z" || state === "X") return [];
    return [{ pid, ppid: Number(ppid), group: Number(group), session: Number(session) }];
  });
}

/** Null: a program is just being started in it, and its environment is not to be seen for an instant. */
function isMarked(pid: number, { materializationId, processId, uid }: Marking): boolean | null {
  const mark = `${PROCESS_MARK}=${materializationId}/${processId ?? ""}`;
  const environment = readProcFile(pid, "environ");
  const found = environment
    ?.split("\0")
    .some((entry) => (processId === undefined ? entry.startsWith(mark) : entry === mark));
  if (found === true) return true;
  // A uid of its own says so of everything in the materialization, whatever became of the environment.
  if (uid !== null && processId === undefined) {
    if (new RegExp(`^Uid:\\t${uid}\\t`, "m").test(readProcFile(pid, "status") ?? "")) return true;
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
