import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { ProcessSpec } from "../supervisor/calls.ts";
import { identityArguments, type BubblewrapMeans, type Sandbox } from "./sandbox.ts";

/** Where the workspace is for what runs in the namespace tier. */
export const INSIDE_ROOT = "/workspace";

/** What the files given to bubblewrap are, by their descriptors. */
export const SANDBOX_FILES = { seccomp: 3, passwd: 4, group: 5, options: 6 } as const;

const LOADER_VARIABLES = /^(LD_|GLIBC_|MALLOC_|GCONV_PATH$|LOCPATH$|NLSPATH$)/;

/** The user inside a user namespace; outside it is the workspace's own uid, or the agent's. */
const INSIDE_UID = 1000;
const TMP_BYTES = 1024 ** 3;
/** To become the workspace's uid, and before that to enter its folders, which are closed to all others. They go with root. */
const ROOT_CAPABILITIES = ["CAP_SETUID", "CAP_SETGID", "CAP_DAC_READ_SEARCH"] as const;

/**
 * Of /etc only what programs need to run: no shadow, no keys, no configuration of the machine's services. Each is a mount,
 * and those are most of what the start of a process costs.
 */
const ETC = [
  ..."alternatives bash.bashrc hosts ld.so.cache localtime nsswitch.conf os-release pki/tls/certs pki/ca-trust".split(
    " ",
  ),
  ..."profile resolv.conf services ssl/certs ssl/openssl.cnf".split(" "),
];

/**
 * The command line of bubblewrap around a program, and the options that it reads from a file: the command line of a process
 * is seen by others, and the environment is none of their business.
 */
export function bubblewrapArguments(
  sandbox: Sandbox,
  spec: ProcessSpec,
  { inside, env, program }: { inside: string; env: Record<string, string>; program: string[] },
): { argv: string[]; options: string[]; uid: number | null } {
  const { means, uid } = sandbox;
  const { tools } = means;
  const { setpriv, bwrap } = tools;
  if (means.bubblewrap === null || bwrap === null)
    throw new Error("The namespace tier does not work on this machine.");
  const identity = setpriv === null ? [] : [setpriv, ...identityArguments(uid), "--"];
  const { user } = means.bubblewrap;
  // What setpriv itself would obey while it is still root comes after it.
  const isLate = (name: string): boolean => user === "root" && LOADER_VARIABLES.test(name);
  const early = Object.entries(env).filter(([name]) => !isLate(name));
  const late = Object.entries(env).filter(([name]) => isLate(name));
  // A terminal's program cannot be started as another user, but start as this one and change.
  const isChanged = user === "dropped" && spec.kind === "pty";
  return {
    uid: user === "dropped" && spec.kind === "exec" ? uid : null,
    argv: [
      ...(isChanged ? identity : []),
      ...[bwrap, "--args", String(SANDBOX_FILES.options), "--"],
      ...(user === "root" ? identity : []),
      ...(late.length > 0 && tools.env !== null ? [tools.env, ...late.map((entry) => entry.join("="))] : []),
      ...program,
    ],
    options: [
      ...bubblewrapOptions(sandbox, spec, inside, means.bubblewrap),
      ...["--clearenv", ...early.flatMap(([name, value]) => ["--setenv", name, value])],
    ],
  };
}

function bubblewrapOptions(
  { surroundings: { root, network, resources } }: Sandbox,
  spec: ProcessSpec,
  inside: string,
  { user, proc }: BubblewrapMeans,
): string[] {
  const isRoot = user === "root";
  return [
    ...namespaces(isRoot, network),
    ...["--cap-drop", "ALL", ...(isRoot ? ROOT_CAPABILITIES.flatMap((name) => ["--cap-add", name]) : [])],
    "--die-with-parent",
    // A terminal keeps its session for job control; the filter refuses what a shared terminal could be misused for.
    ...(spec.kind === "exec" ? ["--new-session"] : []),
    ...systemFiles(),
    ...(proc === "own" ? ["--proc", "/proc"] : ["--ro-bind", "/proc", "/proc"]),
    ...["--dev", "/dev", ...temporary("/dev/shm", resources.memory)],
    ...["--remount-ro", "/dev", ...temporary("/tmp", resources.memory)],
    ...["--bind", root, INSIDE_ROOT, "--remount-ro", "/"],
    ...["--chdir", join(INSIDE_ROOT, inside), "--seccomp", String(SANDBOX_FILES.seccomp)],
  ];
}

function namespaces(isRoot: boolean, network: "on" | "off"): string[] {
  const user = ["--unshare-user", "--uid", String(INSIDE_UID), "--gid", String(INSIDE_UID)];
  return [
    ...(isRoot ? [] : user),
    ..."--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --hostname workspace".split(" "),
    ...(network === "off" ? ["--unshare-net"] : []),
  ];
}

/** A file system in memory, no larger than the memory that the workspace may have. */
function temporary(path: string, memory: number | null): string[] {
  const bytes = memory === null ? TMP_BYTES : Math.min(TMP_BYTES, memory * 1024 * 1024);
  return ["--perms", "1777", "--size", String(bytes), "--tmpfs", path];
}

let system: string[] | null = null;

/** Programs and libraries, read-only; looked for once. */
function systemFiles(): string[] {
  system ??= [
    ...["--ro-bind", "/usr", "/usr"],
    ...["bin", "sbin", "lib", "lib32", "lib64", "libx32"].flatMap((name) => readOnly(`/${name}`)),
    ...ETC.flatMap((name) => readOnly(`/etc/${name}`)),
  ];
  return [
    // Made by itself it would be root's alone where root sets the sandbox up.
    ...["--perms", "0755", "--dir", "/etc", ...system],
    ...["--perms", "0644", "--ro-bind-data", String(SANDBOX_FILES.passwd), "/etc/passwd"],
    ...["--perms", "0644", "--ro-bind-data", String(SANDBOX_FILES.group), "/etc/group"],
    ...["--dir", "/var", "--symlink", "/tmp", "/var/tmp", "--dir", "/run"],
  ];
}

/** As it is on this machine. What is a link into /usr, as /bin is on merged systems, stays one. */
function readOnly(path: string): string[] {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return [];
  const target = entry.isSymbolicLink() ? readlinkSync(path) : null;
  if (target !== null && resolve(dirname(path), target).startsWith("/usr/"))
    return ["--symlink", target, path];
  // It may go away while the agent runs.
  return ["--ro-bind-try", path, path];
}

/** Who the user of the sandbox is, for programs that ask by name. */
export function accountFiles({ means, uid }: Pick<Sandbox, "means" | "uid">): {
  passwd: string;
  group: string;
} {
  const id = means.bubblewrap?.user === "root" ? uid : INSIDE_UID;
  return {
    passwd: `root:x:0:0::/:/usr/sbin/nologin\nworkspace:x:${id}:${id}::${INSIDE_ROOT}:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n`,
    group: `root:x:0:\nworkspace:x:${id}:\nnogroup:x:65534:\n`,
  };
}
