import { spawn, type ChildProcessByStdio } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Isolation } from "@keelson/contract";
import type { SandboxMeans } from "../sandboxes/sandbox.ts";

/** Beside this file as source in development, compiled when published. */
export const SUPERVISOR_ENTRY = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./main.ts" : "./main.js", import.meta.url),
);

const isSource = import.meta.url.endsWith(".ts");

/** Run from sources, it finds its packages' sources too. */
const CONDITIONS = isSource ? ["--conditions=@keelson/source"] : [];

/** It has nothing of the agent's environment. Run from sources, it finds them compiled where the agent keeps its own. */
function supervisorEnvironment(): Record<string, string> {
  // Node names the folder of its own version in the one that it was given.
  const own = isSource ? getCompileCacheDir() : undefined;
  return own === undefined ? {} : { NODE_COMPILE_CACHE: dirname(own) };
}

/** A supervisor that waits to be told which workspace is its own; it ends when its input does without a word. */
export type BootedSupervisor = {
  child: ChildProcessByStdio<Writable, Readable, null>;
  /** What it says goes there. */
  logPath: string;
};

/** One line of `/proc/self/uid_map` where users are the machine's own. */
const ALL_USERS = /^\s*0\s+0\s+4294967295\s*$/;

/**
 * Where a workspace has a uid of its own, the kernel counts the processes of that uid in all user namespaces that are made
 * under the limit, so it is set before there is any. The machine's root, which the supervisor is, is not held to it; the root
 * of a container that has users of its own would be.
 */
function processLimit({ uids, tools }: Pick<SandboxMeans, "tools" | "uids">, processes: number): string[] {
  if (uids === null || tools.prlimit === null) return [];
  if (!ALL_USERS.test(readFileSync("/proc/self/uid_map", "latin1"))) return [];
  return [tools.prlimit, `--nproc=${processes}`, "--"];
}

/**
 * What starts a supervisor. In the process tier it gives up for good that it, or what it starts, ever gains rights. In the
 * other tier bubblewrap sees to that, and may itself be a program that needs to gain some.
 */
export const wrapperOf = (
  isolation: Isolation,
  means: Pick<SandboxMeans, "tools" | "uids">,
  processes: number,
): string[] => [
  ...processLimit(means, processes),
  ...(isolation === "process" && means.tools.setpriv !== null
    ? [means.tools.setpriv, "--no-new-privs", "--"]
    : []),
];

/** @param wrapper what starts it, as a number of cores to be kept to. */
export function bootSupervisor(logPath: string, wrapper: readonly string[] = []): BootedSupervisor {
  const log = openSync(logPath, "w", 0o600);
  try {
    const [file, ...args] = [...wrapper, process.execPath, ...CONDITIONS, SUPERVISOR_ENTRY];
    const child = spawn(file, args, {
      stdio: ["pipe", "pipe", log],
      env: supervisorEnvironment(),
      cwd: "/",
      detached: true,
    }) as BootedSupervisor["child"];
    // What ends before it is told says so by its end.
    child.stdin.on("error", () => undefined);
    return { child, logPath };
  } finally {
    closeSync(log);
  }
}
