import { join } from "node:path";
import type { ProcessSpec } from "../supervisor/calls.ts";
import type { BubblewrapMeans, Sandbox } from "./sandbox.ts";
import { accountFiles, systemFiles, temporary } from "./system-files.ts";
import { wrapInBubblewrap } from "./wrap-in-bubblewrap.ts";

/** Where the workspace is for what runs in the namespace tier. */
export const INSIDE_ROOT = "/workspace";

/** What the files given to bubblewrap are, by their descriptors. */
export const SANDBOX_FILES = { seccomp: 3, passwd: 4, group: 5, options: 6 } as const;

/** The user inside a user namespace; outside it is the workspace's own uid, or the agent's. */
const INSIDE_UID = 1000;

/** The command line of bubblewrap around a program of a workspace. */
export function bubblewrapArguments(
  sandbox: Sandbox,
  spec: ProcessSpec,
  { inside, env, program }: { inside: string; env: Record<string, string>; program: string[] },
): { argv: string[]; options: string[]; uid: number | null } {
  const { means, uid, surroundings } = sandbox;
  if (means.bubblewrap === null) throw new Error("The namespace tier does not work on this machine.");
  return wrapInBubblewrap({
    ...{ means, uid, env, program, insideUid: INSIDE_UID },
    ...{ hostname: "workspace", network: surroundings.network, optionsFd: SANDBOX_FILES.options },
    options: workspaceOptions(sandbox, spec, inside, means.bubblewrap),
    startsAsAgent: spec.kind === "pty",
  });
}

function workspaceOptions(
  { surroundings: { root, resources } }: Sandbox,
  spec: ProcessSpec,
  inside: string,
  { proc }: BubblewrapMeans,
): string[] {
  return [
    // A terminal keeps its session for job control; the filter refuses what a shared terminal could be misused for.
    ...(spec.kind === "exec" ? ["--new-session"] : []),
    ...[...systemFiles(SANDBOX_FILES), "--symlink", "/tmp", "/var/tmp"],
    ...(proc === "own" ? ["--proc", "/proc"] : ["--ro-bind", "/proc", "/proc"]),
    ...["--dev", "/dev", ...temporary("/dev/shm", resources.memory)],
    ...["--remount-ro", "/dev", ...temporary("/tmp", resources.memory)],
    ...["--bind", root, INSIDE_ROOT, "--remount-ro", "/"],
    ...["--chdir", join(INSIDE_ROOT, inside), "--seccomp", String(SANDBOX_FILES.seccomp)],
  ];
}

/** Who the user of a workspace's sandbox is, for programs that ask by name. */
export const workspaceAccounts = ({ means, uid }: Pick<Sandbox, "means" | "uid">) =>
  accountFiles({
    name: "workspace",
    id: means.bubblewrap?.user === "root" ? (uid ?? INSIDE_UID) : INSIDE_UID,
    home: INSIDE_ROOT,
  });
