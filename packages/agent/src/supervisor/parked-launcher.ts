import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, closeSync, openSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Duplex } from "node:stream";
import { buildCommand, firstFreeDescriptor, programEnvironment } from "../sandboxes/sandbox-command.ts";
import { resolveFolder } from "../sandboxes/resolve-folder.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { ProcessSpec } from "./calls.ts";
import { spawnExec, toLaunched, type Launched } from "./launch.ts";

/**
 * A shell in a sandbox that is set up, which waits for a word and then becomes the program of an exec. Nothing of a
 * caller's is in it before.
 */
export type ParkedLauncher = {
  /** Its gate is the word. */
  launched: Launched;
  isAlive(): boolean;
  /** Whether it has been told what to become: whoever took it disposes of it. */
  isTold(): boolean;
  /** What it becomes when its gate is opened. */
  become(spec: ProcessSpec): void;
  /** Removes what was made for it. */
  dispose(): void;
};

/** What a parked launcher is marked with instead of the id of an exec. */
export const PARKED_ID = "parked";

const SPEC: ProcessSpec = {
  ...{
    id: PARKED_ID,
    kind: "exec",
    command: null,
    cwd: "",
    env: {},
    timeoutMs: null,
    cols: null,
    rows: null,
  },
};

/** Whether a parked launcher may become it: it begins in the workspace's root folder, and `env` takes its name for a program. */
export const canPark = ({ means: { tools } }: Sandbox, { kind, cwd, command }: ProcessSpec): boolean =>
  tools.env !== null && kind === "exec" && cwd === "" && command?.[0]?.includes("=") === false;

/**
 * The file is read twice: at first it is empty, and after the word it is the program. A file is read in large pieces, which a shell
 * may not do with what it is sent. The shell is ready when it has come to the end of the file: before that, what the file becomes would
 * be read as more of it, and run without the word.
 */
export const launcherShell = (file: number, word: number): string[] => [
  "/bin/sh",
  "-c",
  `. /dev/fd/${file} && echo ready >&${word} && read -r word <&${word} && . /dev/fd/${file}`,
];

/**
 * Resolves when the shell waits.
 *
 * @throws Error when it cannot on this machine, or has ended before.
 */
export async function parkLauncher(sandbox: Sandbox): Promise<ParkedLauncher> {
  const { surroundings, means } = sandbox;
  const folder = resolveFolder(surroundings, "");
  const path = join(sandbox.folder, `program-${randomUUID()}`);
  let disposeCommand = (): void => undefined;
  const dispose = (): void => {
    disposeCommand();
    rmSync(path, { force: true });
  };
  let file: number | null = null;
  try {
    const [fileAt, wordAt] = [firstFreeDescriptor(sandbox), firstFreeDescriptor(sandbox) + 1];
    // Whom the shell runs as opens it by its descriptor; nobody else enters the folder that it is in.
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    file = openSync(path, "r");
    const bare = { ...sandbox, surroundings: { ...surroundings, env: {} } };
    const command = buildCommand(bare, { ...SPEC, command: launcherShell(fileAt, wordAt) }, folder);
    disposeCommand = command.dispose;
    const { child, gate } = await spawnExec(command, [file, "pipe"]);
    gate?.open();
    const word = child.stdio[wordAt] as Duplex;
    // What has ended meanwhile says so by its end.
    word.on("error", () => undefined);
    const launched = toLaunched(child, {
      open: () => void word.end("start\n"),
      close: () => void word.destroy(),
    });
    const ended = launched.exited.then(() => {
      throw new Error("The shell has ended.");
    });
    // It ends some day, whoever looks.
    ended.catch(() => undefined);
    await Promise.race([once(word, "data"), ended]);
    const { absolute, inside } = folder;
    let isTold = false;
    return {
      launched,
      isAlive: () => child.exitCode === null && child.signalCode === null,
      isTold: () => isTold,
      become(spec) {
        isTold = true;
        const env = programEnvironment(sandbox, spec, { absolute, inside });
        const program = programText(env, spec.command as string[], means.tools.env as string);
        writeFileSync(path, `exec ${fileAt}<&- ${wordAt}<&-\n${program}\n`);
      },
      dispose,
    };
  } catch (error) {
    dispose();
    throw error;
  } finally {
    if (file !== null) closeSync(file);
    folder.close();
  }
}

/** Variables of dash that it does not take as any text. */
const OF_THE_SHELL = ["LINENO", "OPTIND", "PPID"];

/**
 * The last command of the shell. Dash adds no variable of its own to those that it exports, and it was begun with none that a
 * program has not as well: where it can set them, `env` would be one program more.
 */
function programText(env: Record<string, string>, command: readonly string[], tool: string): string {
  const entries = Object.entries(env);
  const words = command.map(quote).join(" ");
  const isSettable = entries.every(([name]) => /^[A-Za-z_]\w*$/.test(name) && !OF_THE_SHELL.includes(name));
  if (isDash() && isSettable)
    return `export ${entries.map(([name, value]) => `${name}=${quote(value)}`).join(" ")}\nexec ${words}`;
  return `exec ${quote(tool)} -i ${entries.map((entry) => quote(entry.join("="))).join(" ")} ${words}`;
}

let dash: boolean | null = null;
const isDash = (): boolean => (dash ??= basename(realpathSync("/bin/sh")) === "dash");

/** As one word of a shell, whatever is in it. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
