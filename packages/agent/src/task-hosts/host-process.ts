import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { ExecutionMode } from "@keelson/contract";
import { TO_AGENT_FD, FROM_AGENT_FD } from "../host/frames.ts";

export type HostSpec = {
  digest: string;
  bundlePath: string;
  mode: ExecutionMode;
  /** Null: Node's default heap and no watch. */
  memoryMb: number | null;
};

/** Hosts with one key can stand in for each other. */
export const hostKey = (spec: HostSpec): string => `${spec.mode}:${spec.digest}:${spec.memoryMb ?? ""}`;

export type HostProcess = {
  child: ChildProcess;
  stdout: Socket;
  stderr: Socket;
  fromHost: Socket;
  toHost: Socket;
};

/** Beside this file as source in development, compiled when published. */
const ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../host/main.ts" : "../host/main.js", import.meta.url),
);

/** Starts a host in a process group of its own, with nothing of the agent's environment but what is given. */
export function spawnHost(spec: HostSpec, environment: Record<string, string>): HostProcess {
  const flags = ["--enable-source-maps"];
  if (spec.memoryMb !== null) flags.push(`--max-old-space-size=${spec.memoryMb}`);
  const child = spawn(process.execPath, [...flags, ENTRY], {
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
    env: environment,
    detached: true,
  });
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
