import type { Surroundings } from "../supervisor/calls.ts";

/** Of everything in one workspace together, and of each file. */
export type SandboxLimits = {
  processes: number;
  fileBytes: number;
  diskBytes: number;
  /** The folder of the workspace's cgroup, by which the kernel holds it to processes, memory and cores; null: it does not. */
  cgroup: string | null;
};

export const DEFAULT_LIMITS: SandboxLimits = {
  processes: 1024,
  fileBytes: 16 * 1024 ** 3,
  diskBytes: 32 * 1024 ** 3,
  cgroup: null,
};

/** What works on this machine, found out by running it. */
export type SandboxMeans = {
  /** Absolute paths of the programs that work. What a workspace calls by these names is never run outside of it. */
  tools: {
    /** no_new_privs, and dying with the supervisor. */
    setpriv: string | null;
    /** Limits. */
    prlimit: string | null;
    /** A number of cores. */
    taskset: string | null;
    env: string | null;
    /** `env` can also undo that a signal is ignored. */
    envResetsSignals: boolean;
    bwrap: string | null;
  };
  /** The private range of uids, of which each workspace has one; null when the agent may not change its uid. */
  uids: UidRange | null;
  /** A uid of its own works in the process tier too: it reaches the data folder. */
  ownUid: boolean;
  /** Null: no namespace tier. */
  bubblewrap: BubblewrapMeans | null;
};

export type UidRange = { first: number; count: number };

export type BubblewrapMeans = {
  /**
   * Who sets the sandbox up: the agent's `own` user, the workspace's uid (`dropped`), or `root`, which drops to that uid
   * inside: without a user namespace then, but reaching folders that only root may enter.
   */
  user: "own" | "dropped" | "root";
  /** `host`: a hardened container refuses a /proc of the sandbox's own. Names of the machine's processes are seen then. */
  proc: "own" | "host";
};

/** One workspace's sandbox, as every process in it is started. */
export type Sandbox = {
  materializationId: string;
  means: SandboxMeans;
  surroundings: Surroundings;
  limits: SandboxLimits;
  /** The uid of this workspace alone; null when it has none. */
  uid: number | null;
  /** Whoever builds its commands can gain no rights, and neither can what it starts: nothing has to see to that again. */
  noNewPrivileges: boolean;
  /** Of its supervisor; only the agent's user may enter it. */
  folder: string;
  /** Files that bubblewrap is given as descriptors from 3 on; empty in the process tier. */
  files: string[];
};

/** Where the system's own programs are. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** What a program obeys before its first instruction: set by a command's author they must reach the program alone. */
export const LOADER_VARIABLES = /^(LD_|GLIBC_|MALLOC_|GCONV_PATH$|LOCPATH$|NLSPATH$)/;

export const identityArguments = (uid: number | null): string[] =>
  uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];

/** The uid of a workspace's sandbox: always the same one for a materialization. */
export function chooseUid(
  means: SandboxMeans,
  { isolation }: Pick<Surroundings, "isolation">,
  materializationId: string,
): number | null {
  if (means.uids === null || (isolation === "process" && !means.ownUid)) return null;
  return means.uids.first + (spread(materializationId) % means.uids.count);
}

/** A number that differs from one id to another. */
export function spread(id: string): number {
  let hash = 0;
  for (const byte of Buffer.from(id)) hash = (Math.imul(hash, 31) + byte) >>> 0;
  return hash;
}
