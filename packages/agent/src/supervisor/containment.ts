import type { Isolation, ProcessSignal } from "@keelson/contract";
import { endMarked, listProcesses, sendSignal } from "../sandboxes/find-processes.ts";

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
      await endMarked({ materializationId, processId, uid: null });
    },
  };
}

/**
 * bubblewrap stands outside and its init inside, the program under it. Killing both ends the whole process namespace,
 * whatever is in it. Other signals are for the program: bubblewrap itself would die of them, while an init of a namespace
 * ignores what it has no handler for.
 */
function containInNamespace({ pid }: ContainedProcess): Containment {
  const findInit = (): number | undefined => listProcesses().find(({ ppid }) => ppid === pid)?.pid;
  const killAll = async (): Promise<void> => {
    const init = findInit();
    sendSignal(pid, "SIGKILL");
    if (init === undefined) return;
    sendSignal(init, "SIGKILL");
    // The kernel ends a namespace's processes before its init is gone.
    while (listProcesses().some((process) => process.pid === init))
      await new Promise((resolve) => setTimeout(resolve, 2));
  };
  return {
    signal(signal) {
      if (signal === "SIGKILL") return void killAll();
      const init = findInit();
      if (init === undefined) return;
      const ownGroup = listProcesses().some((process) => process.pid === init && process.group === init);
      if (ownGroup) sendSignal(-init, signal);
      else for (const { pid: child, ppid } of listProcesses()) if (ppid === init) sendSignal(child, signal);
    },
    hangUp() {
      const init = findInit();
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
