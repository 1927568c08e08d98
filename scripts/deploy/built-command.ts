import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

export type Started = {
  /** Resolves with the match once the process has said it; rejects when it ends or takes a minute. */
  says(what: RegExp): Promise<RegExpExecArray>;
  /** Asks it to end and gives its exit code. */
  stop(): Promise<number | null>;
  /** Resolves when it has ended on its own. */
  ended(): Promise<{ code: number | null; output: string }>;
};

const DEADLINE_MS = 60_000;
const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of living) child.kill("SIGKILL");
});

/** Runs a file on plain Node, with the given environment and nothing of this process's but PATH. */
export const startBuilt = (
  file: string,
  args: readonly string[],
  { env, cwd }: { env: Record<string, string>; cwd: string },
): Started =>
  startProgram(process.execPath, [file, ...args], { cwd, env: { PATH: process.env["PATH"], ...env } });

/** Runs a program with the given environment alone. */
export function startProgram(
  program: string,
  args: readonly string[],
  { env, cwd }: { env: NodeJS.ProcessEnv; cwd: string },
): Started {
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  living.add(child);
  let output = "";
  const changed: (() => void)[] = [];
  const hear = (bytes: Buffer): void => {
    output += bytes.toString();
    for (const look of changed) look();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const closed = once(child, "close").then(([code]) => {
    living.delete(child);
    for (const look of changed) look();
    return code as number | null;
  });
  const isOver = (): boolean => !living.has(child);
  return {
    says: (what) =>
      new Promise((resolve, reject) => {
        const deadline = setTimeout(() => reject(new Error(`${what} was not said:\n${output}`)), DEADLINE_MS);
        const look = (): void => {
          const match = what.exec(output);
          if (match === null && !isOver()) return;
          clearTimeout(deadline);
          if (match === null) reject(new Error(`It ended without saying ${what}:\n${output}`));
          else resolve(match);
        };
        changed.push(look);
        look();
      }),
    stop: () => {
      child.kill("SIGTERM");
      return closed;
    },
    ended: async () => ({ code: await closed, output }),
  };
}
