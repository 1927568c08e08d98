import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { runCommandLine } from "../src/program.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";

export type Outcome = { code: number | null; stdout: string; stderr: string };
export type CommandOptions = {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
  /** Of a terminal that shows what is written; absent: there is none. */
  columns?: number;
};

/** Whoever runs the tests may be signed in somewhere; a test that signs in has a HOME of its own. */
const asNobody = (env: Record<string, string> = {}): Record<string, string> =>
  env["HOME"] === undefined ? { XDG_CONFIG_HOME: join(tmpdir(), "keelson-of-nobody"), ...env } : env;

/** Runs one command line in this process: what a command does, without the time a process takes to start. */
export async function keelson(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  if (options.columns !== undefined)
    for (const stream of [stdout, stderr]) Object.assign(stream, { isTTY: true, columns: options.columns });
  const written = Promise.all([text(stdout), text(stderr)]);
  const code = await runCommandLine(args, {
    env: asNobody(options.env),
    cwd: options.cwd ?? tmpdir(),
    stdin: Readable.from([options.input ?? ""]) as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    signal: new AbortController().signal,
    endInOrder: () => undefined,
  });
  stdout.end();
  stderr.end();
  const [out, err] = await written;
  return { code, stdout: out, stderr: err };
}

/** Runs `keelson` as a user does: a process of its own, without a terminal. */
export async function spawnKeelson(
  args: readonly string[],
  options: CommandOptions & { onSpawn?: (child: ChildProcess) => void } = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [...programArguments("cli/src/main.ts"), ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { ...bareEnvironment(), ...asNobody(options.env) },
    stdio: "pipe",
  });
  options.onSpawn?.(child);
  child.stdin.end(options.input ?? "");
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code: code as number | null, stdout, stderr };
}

export async function createFolder(): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "keelson-cli-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The environment in which a command reaches the server. */
export const environmentOf = (server: {
  url: string;
  credentials: { api_key: string };
}): Record<string, string> => ({ KEELSON_URL: server.url, KEELSON_API_KEY: server.credentials.api_key });
