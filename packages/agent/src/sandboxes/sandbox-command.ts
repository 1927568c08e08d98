import { randomUUID } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessSpec } from "../supervisor/calls.ts";
import { bubblewrapArguments, INSIDE_ROOT } from "./bubblewrap-arguments.ts";
import { formatMark, PROCESS_MARK } from "./find-processes.ts";
import { identityArguments, SYSTEM_PATH, type Sandbox } from "./sandbox.ts";

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

/**
 * The command line of a process. What its author sets in the environment (LD_PRELOAD, PATH, …) reaches the program alone and
 * nothing that runs before it, outside of the sandbox.
 *
 * @param folder where it starts, outside and relative to the root.
 */
export function buildCommand(
  sandbox: Sandbox,
  spec: ProcessSpec,
  folder: { absolute: string; inside: string },
): SandboxedCommand {
  const { tools } = sandbox.means;
  const argv = spec.command ?? loginShell();
  const mark = { [PROCESS_MARK]: formatMark(sandbox.materializationId, spec.id) };
  const outer = { PATH: SYSTEM_PATH, ...mark };
  if (sandbox.surroundings.isolation === "namespace") {
    const env = { ...environmentOf(sandbox, spec, INSIDE_ROOT, join(INSIDE_ROOT, folder.inside)), ...mark };
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
  const { root } = sandbox.surroundings;
  const env = { ...environmentOf(sandbox, spec, root, folder.absolute), ...mark };
  const wrappers = [...privilegeArguments(sandbox), ...limitArguments(sandbox)];
  const isWrapped = wrappers.length > 0 && tools.env !== null;
  const [file, ...args] = isWrapped
    ? [...wrappers, tools.env, "-i", ...Object.entries(env).map((entry) => entry.join("=")), ...argv]
    : argv;
  return {
    ...{ file: file as string, args: args as string[], cwd: folder.absolute },
    ...{
      env: isWrapped ? outer : env,
      files: [],
      uid: null,
      ignoresInterrupts: false,
      dispose: () => undefined,
    },
  };
}

const loginShell = (): string[] => [existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh", "-l"];

/** Nothing of the agent's own environment is in it. */
function environmentOf(
  { surroundings }: Sandbox,
  spec: ProcessSpec,
  home: string,
  cwd: string,
): Record<string, string> {
  return {
    ...{ PATH: SYSTEM_PATH, HOME: home, LANG: "C.UTF-8", PWD: cwd },
    ...(spec.kind === "pty" ? { TERM: "xterm-256color", SHELL: loginShell()[0] as string } : {}),
    ...surroundings.env,
    ...spec.env,
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

/** What the wrappers say when a program cannot be started: `prlimit: failed to execute x: No such file or directory`. */
const COULD_NOT_START = [
  /^(?:\S*\/)?(?:prlimit|setpriv): failed to execute (.{1,4096}?): ([^\n]*)\r?\n?$/s,
  /^(?:\S*\/)?bwrap: execvp (.{1,4096}?): ([^\n]*)\r?\n?$/s,
  /^(?:\S*\/)?env: (?:can't execute )?['\u2018](.{1,4096}?)['\u2019]: ([^\n]*)\r?\n?$/s,
];

/** Why a program never ran, when the words of what was to start it say so; they are the first and last of its output. */
export function readStartFailure(exitCode: number | null, output: string): string | null {
  if (exitCode === null || exitCode === 0) return null;
  const match = COULD_NOT_START.map((pattern) => pattern.exec(output)).find((found) => found !== null);
  return match === undefined ? null : `"${match[1]}" could not be started: ${match[2]}`;
}
