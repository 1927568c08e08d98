import type { Isolation, ProcessSignal } from "@keelson/contract";
import { pause } from "../pause.ts";
import {
  endMarked,
  findProcess,
  listChildren,
  listProcesses,
  sendSignal,
} from "../sandboxes/find-processes.ts";

/** How a process and all that came of it are reached by signals. */
export type Containment = {
  signal(signal: ProcessSignal): void;
  /** The terminal is gone: everything that belongs to it is told. */
  hangUp(): void;
  /** Kills all; resolves when nothing is left. */
  killAll(): Promise<void>;
};

export type ContainedProcess = { materializationId: string; processId: string; pid: number };

export const contain = (isolation: Isolation, process: ContainedProcess): Containment =>
  isolation === "namespace" ? containInNamespace(process) : containInGroup(process);

/**
 * By process group; and, for what left it, by the mark in its environment. What left the group and cleared its environment
 * is found by its uid at the end of the workspace, where the workspace has one of its own, and else not at all.
 */
function containInGroup({ materializationId, processId, pid }: ContainedProcess): Containment {
  return {
    signal: (signal) => void sendSignal(-pid, signal),
    hangUp: () => hangUpSession(pid),
    async killAll() {
      sendSignal(-pid, "SIGKILL");
      await endMarked({ owner: materializationId, processId, uid: null });
    },
  };
}

const LOOK_MS = 5;
/** From the start of bubblewrap until its program must be there. */
const SET_UP_MS = 30_000;

/**
 * bubblewrap stands outside and its init inside, the program under it. Killing both ends the whole process namespace,
 * whatever is in it. Other signals are for the program: bubblewrap itself would die of them, while an init of a namespace
 * ignores what it has no handler for. What comes before there is a program waits for it.
 */
function containInNamespace({ materializationId, processId, pid }: ContainedProcess): Containment {
  const over = new AbortController();
  const findChild = (parent: number): number | undefined => listChildren(parent)[0]?.pid;
  const killAll = async (): Promise<void> => {
    over.abort();
    const init = findChild(pid);
    sendSignal(pid, "SIGKILL");
    if (init === undefined) {
      // bubblewrap has ended, and its init with it, which is nobody's child any more and may need a moment for that.
      await endMarked({ owner: materializationId, processId, uid: null });
      return;
    }
    sendSignal(init, "SIGKILL");
    // The kernel ends a namespace's processes before its init is gone.
    while (findProcess(init) !== null) await pause(LOOK_MS);
  };
  const findInitOfProgram = async (): Promise<number | undefined> => {
    for (let waitedMs = 0; !over.signal.aborted && waitedMs < SET_UP_MS; waitedMs += LOOK_MS) {
      const init = findChild(pid);
      if (init !== undefined && findChild(init) !== undefined) return init;
      await pause(LOOK_MS);
    }
    return undefined;
  };
  const send = async (signal: ProcessSignal): Promise<void> => {
    const init = await findInitOfProgram();
    if (init === undefined) return;
    const processes = listProcesses();
    // An exec has a session of its own, led by the init; a terminal's is bubblewrap's, whose groups are its shell's.
    if (processes.some((process) => process.pid === init && process.group === init))
      sendSignal(-init, signal);
    else for (const child of processes) if (child.ppid === init) sendSignal(child.pid, signal);
  };
  let turn = Promise.resolve();
  return {
    signal(signal) {
      if (signal === "SIGKILL") void killAll();
      else turn = turn.then(() => send(signal));
    },
    hangUp() {
      const init = findChild(pid);
      for (const process of listProcesses())
        if (process.session === pid && process.pid !== pid && process.pid !== init)
          sendSignal(process.pid, "SIGHUP");
    },
    killAll,
  };
}

function hangUpSession(leader: number): void {
  for (const { pid, session } of listProcesses()) {
    if (session !== leader) continue;
    sendSignal(pid, "SIGHUP");
    // A stopped job hears nothing until it goes on.
    sendSignal(pid, "SIGCONT");
  }
  sendSignal(-leader, "SIGHUP");
}
