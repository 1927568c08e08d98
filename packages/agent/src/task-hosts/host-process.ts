import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { spawnExpendable } from "../limits/spawn-expendable.ts";
import { TO_AGENT_FD, FROM_AGENT_FD } from "../host/frames.ts";
import type { HostHome } from "./host-homes.ts";

export type HostProcess = {
  child: ChildProcess;
  stdout: Socket;
  stderr: Socket;
  fromHost: Socket;
  toHost: Socket;
};

/** Beside this file as source in development, compiled when published. */
export const HOST_ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../host/main.ts" : "../host/main.js", import.meta.url),
);

/**
 * Starts a host in a process group and folders of its own, with nothing of the agent's environment but what is given, and
 * no descriptor but five of its own and the tickets of an exclusive one. As another user it has none of the agent's groups and rights.
 */
export function spawnHost(
  home: HostHome,
  memoryMb: number | null,
  environment: Record<string, string>,
  ticketsFd: number | null,
): HostProcess {
  const [file, ...args] = hostProgram(memoryMb);
  const child = spawnExpendable(() =>
    spawn(file, args, {
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", ...(ticketsFd === null ? [] : [ticketsFd])],
      cwd: home.work,
      ...home.user,
      env: { ...environment, ...home.environment },
      detached: true,
    }),
  );
  return toHostProcess(child);
}

/** The command line of a host. */
export const hostProgram = (memoryMb: number | null): [string, ...string[]] => [
  process.execPath,
  ...(memoryMb === null ? [] : [`--max-old-space-size=${memoryMb}`]),
  HOST_ENTRY,
];

/** The pipes of a host that was started. Throws when the agent has too many files open. */
export function toHostProcess(child: ChildProcess): HostProcess {
  if (!child.stdio[FROM_AGENT_FD]) {
    // Out of descriptors: Node makes no pipes and reports why in an event that nobody else waits for.
    child.on("error", () => undefined);
    throw new Error("a task host could not be started: too many open files");
  }
  const pipe = (fd: number) => child.stdio[fd] as unknown as Socket;
  return {
    child,
    stdout: pipe(1),
    stderr: pipe(2),
    fromHost: pipe(TO_AGENT_FD),
    toHost: pipe(FROM_AGENT_FD),
  };
}

/** Kills everything in the host's process group; true when there was something. */
export function killGroup(pid: number): boolean {
  try {
    process.kill(-pid, "SIGKILL");
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
