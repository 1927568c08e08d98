import { randomUUID } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessSpec } from "../supervisor/calls.ts";
import { joinArguments } from "../limits/workspace-cgroup.ts";
import { bubblewrapArguments, INSIDE_ROOT, SANDBOX_FILES } from "./bubblewrap-arguments.ts";
import type { WorkingFolder } from "./resolve-folder.ts";
import { formatMark, PROCESS_MARK } from "./find-processes.ts";
import { identityArguments, LOADER_VARIABLES, SYSTEM_PATH, type Sandbox } from "./sandbox.ts";

/** What is spawned for a process, in an environment that its wrappers may be trusted with. */
export type SandboxedCommand = {
  file: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Opened for it as descriptors from 3 on. */
  files: string[];
  /** Who starts it; null is the supervisor's own user. */
  uid: number | null;
  /** Its wrappers ignore what the keyboard interrupts; the program does not. */
  ignoresInterrupts: boolean;
  /** Removes what was made for this one. */
  dispose(): void;
};

/** The first descriptor that a command is not given. */
export const firstFreeDescriptor = ({ surroundings }: Sandbox): number =>
  surroundings.isolation === "namespace" ? Math.max(...Object.values(SANDBOX_FILES)) + 1 : 3;

/** The command line of a process, in the workspace's cgroup where it has one. */
export function buildCommand(...build: Parameters<typeof buildIsolated>): SandboxedCommand {
  const [{ limits, means }] = build;
  const command = buildIsolated(...build);
  if (limits.cgroup === null) return command;
  // Only who starts it may move it, so it becomes the workspace's user afterwards.
  const { setpriv } = means.tools;
  const identity =
    command.uid === null || setpriv === null ? [] : [setpriv, ...identityArguments(command.uid), "--"];
  const [file, ...args] = [...joinArguments(limits.cgroup), ...identity, command.file, ...command.args];
  return { ...command, file: file as string, args, uid: null };
}

/**
 * The command line of a process. What its author sets in the environment (LD_PRELOAD, PATH, …) reaches the program alone and
 * nothing that runs before it, outside of the sandbox.
 *
 * @param folder where it starts, held until it was started.
 */
function buildIsolated(
  sandbox: Sandbox,
  spec: ProcessSpec,
  folder: Omit<WorkingFolder, "close">,
): SandboxedCommand {
  const { tools } = sandbox.means;
  const argv = spec.command ?? loginShell();
  const env = programEnvironment(sandbox, spec, folder);
  const outer = { PATH: SYSTEM_PATH, ...markOf(sandbox, spec) };
  if (sandbox.surroundings.isolation === "namespace") {
    // bubblewrap is in front with the program, and would die of what that handles.
    const ignoresInterrupts = spec.kind === "pty" && tools.env !== null && tools.envResetsSignals;
    const reset = ignoresInterrupts ? [tools.env as string, "--default-signal=INT,QUIT"] : [];
    const program = [...limitArguments(sandbox), ...reset, ...argv];
    const command = bubblewrapArguments(sandbox, spec, { inside: folder.inside, env, program });
    const path = join(sandbox.folder, `options-${randomUUID()}`);
    writeFileSync(path, command.options.join("\0"), { mode: 0o600 });
    const [file, ...args] = command.argv;
    const files = [...sandbox.files, path];
    return {
      file: file as string,
      args,
      cwd: "/",
      env: outer,
      files,
      ...{ ignoresInterrupts, uid: command.uid },
      dispose: () => rmSync(path, { force: true }),
    };
  }
  if (sandbox.noNewPrivileges && spec.kind === "exec") return launchDirectly(sandbox, argv, env, folder.held);
  const wrappers = [...privilegeArguments(sandbox), ...limitArguments(sandbox)];
  const isWrapped = wrappers.length > 0 && tools.env !== null;
  const [file, ...args] = isWrapped
    ? [...wrappers, tools.env, "-i", ...Object.entries(env).map((entry) => entry.join("=")), ...argv]
    : argv;
  return {
    ...{ file: file as string, args: args as string[], cwd: folder.held },
    ...{
      env: isWrapped ? outer : env,
      files: [],
      uid: null,
      ignoresInterrupts: false,
      dispose: () => undefined,
    },
  };
}

/**
 * Each program on the way takes about a millisecond: who starts an exec becomes the workspace's uid itself and can gain no
 * rights already, so that only the limits are left to set. A terminal cannot be started as another user.
 */
function launchDirectly(
  sandbox: Sandbox,
  argv: string[],
  env: Record<string, string>,
  cwd: string,
): SandboxedCommand {
  const { tools } = sandbox.means;
  const limits = limitArguments(sandbox);
  // What runs before the program is the system's own, but would obey these without the limits.
  const isLate = (name: string): boolean =>
    limits.length > 0 && tools.env !== null && LOADER_VARIABLES.test(name);
  const [late, early] = [true, false].map((wanted) =>
    Object.entries(env).filter(([name]) => isLate(name) === wanted),
  ) as [[string, string][], [string, string][]];
  const setLate = late.length > 0 ? [tools.env as string, ...late.map((entry) => entry.join("="))] : [];
  const [file, ...args] = [...limits, ...setLate, ...argv];
  return {
    ...{ file: file as string, args, cwd, env: Object.fromEntries(early), files: [], uid: sandbox.uid },
    ...{ ignoresInterrupts: false, dispose: () => undefined },
  };
}

const loginShell = (): string[] => [existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh", "-l"];

const markOf = ({ materializationId }: Sandbox, { id }: ProcessSpec): Record<string, string> => ({
  [PROCESS_MARK]: formatMark(materializationId, id),
});

/** All that the program has in its environment. Nothing of the agent's own is in it. */
export function programEnvironment(
  sandbox: Sandbox,
  spec: ProcessSpec,
  folder: Pick<WorkingFolder, "absolute" | "inside">,
): Record<string, string> {
  const { env, isolation, root } = sandbox.surroundings;
  const isInside = isolation === "namespace";
  const cwd = isInside ? join(INSIDE_ROOT, folder.inside) : folder.absolute;
  return {
    ...{ PATH: SYSTEM_PATH, HOME: isInside ? INSIDE_ROOT : root, LANG: "C.UTF-8", PWD: cwd },
    ...(spec.kind === "pty" ? { TERM: "xterm-256color", SHELL: loginShell()[0] as string } : {}),
    ...env,
    ...spec.env,
    ...markOf(sandbox, spec),
  };
}

/** Limits of the process and, of processes, of its uid: applied inside, so that nothing outside is counted. */
function limitArguments({ means, surroundings, limits, uid }: Sandbox): string[] {
  if (means.tools.prlimit === null) return [];
  const { memory } = surroundings.resources;
  return [
    ...[means.tools.prlimit, "--core=0", `--fsize=${limits.fileBytes}`],
    // Data and not address space: runtimes reserve far more addresses than they use.
    ...(memory === null ? [] : [`--data=${memory * 1024 * 1024}`]),
    // Among the processes of a uid that is the agent's too, the agent's own would be counted.
    ...(uid === null && surroundings.isolation === "process" ? [] : [`--nproc=${limits.processes}`]),
    "--",
  ];
}

/** Drops to the workspace's own uid, never to gain rights again, and dies with the supervisor. */
function privilegeArguments({ means, uid }: Sandbox): string[] {
  if (means.tools.setpriv === null) return [];
  return [means.tools.setpriv, ...identityArguments(uid), "--no-new-privs", "--pdeathsig=KILL", "--"];
}
