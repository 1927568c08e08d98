import { identityArguments, LOADER_VARIABLES, type SandboxMeans } from "./sandbox.ts";

/** To become the sandbox's uid, and before that to enter its folders, which are closed to all others. They go with root. */
const ROOT_CAPABILITIES = ["CAP_SETUID", "CAP_SETGID", "CAP_DAC_READ_SEARCH"] as const;

export type Wrapping = {
  means: SandboxMeans;
  /** As whom the program runs outside of any user namespace; null: as who starts it. */
  uid: number | null;
  /** The user in a user namespace of the sandbox's own. */
  insideUid: number;
  hostname: string;
  network: "on" | "off";
  /** The descriptor from which bubblewrap reads its options: a command line is seen by others. */
  optionsFd: number;
  /** Options beside namespaces and rights: mounts, the filter, where to begin. */
  options: string[];
  env: Record<string, string>;
  program: string[];
  /** Who starts it cannot start it as another user. */
  startsAsAgent: boolean;
};

/**
 * The command line of bubblewrap around a program, the options that it reads from a file, and as whom it is to be started.
 * What the environment makes the loader do reaches the program alone, and nothing that runs before it with more rights.
 */
export function wrapInBubblewrap(wrapping: Wrapping): {
  argv: string[];
  options: string[];
  uid: number | null;
} {
  const { means, uid, env, program, options } = wrapping;
  const { setpriv, bwrap, env: envTool } = means.tools;
  if (means.bubblewrap === null || bwrap === null)
    throw new Error("The namespace tier does not work on this machine.");
  const identity = setpriv === null ? [] : [setpriv, ...identityArguments(uid), "--"];
  const { user } = means.bubblewrap;
  const isLate = (name: string): boolean => user === "root" && LOADER_VARIABLES.test(name);
  const early = Object.entries(env).filter(([name]) => !isLate(name));
  const late = Object.entries(env).filter(([name]) => isLate(name));
  return {
    uid: user === "dropped" && !wrapping.startsAsAgent ? uid : null,
    argv: [
      ...(user === "dropped" && wrapping.startsAsAgent ? identity : []),
      ...[bwrap, "--args", String(wrapping.optionsFd), "--"],
      ...(user === "root" ? identity : []),
      ...(late.length > 0 && envTool !== null ? [envTool, ...late.map((entry) => entry.join("="))] : []),
      ...program,
    ],
    options: [
      ...namespaces(wrapping, user === "root"),
      ...options,
      ...["--clearenv", ...early.flatMap(([name, value]) => ["--setenv", name, value])],
    ],
  };
}

function namespaces({ insideUid, hostname, network }: Wrapping, isRoot: boolean): string[] {
  return [
    ...(isRoot ? [] : ["--unshare-user", "--uid", String(insideUid), "--gid", String(insideUid)]),
    ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", hostname],
    ...(network === "off" ? ["--unshare-net"] : []),
    ...["--cap-drop", "ALL", ...(isRoot ? ROOT_CAPABILITIES.flatMap((name) => ["--cap-add", name]) : [])],
    "--die-with-parent",
  ];
}
