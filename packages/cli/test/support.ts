import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { runCommandLine } from "../src/program.ts";

const MAIN = resolve(import.meta.dirname, "../src/main.ts");

export type Outcome = { code: number | null; stdout: string; stderr: string };
export type CommandOptions = { cwd?: string; env?: Record<string, string>; input?: string };

/** Runs one command line in this process: what a command does, without the time a process takes to start. */
export async function keelson(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const written = Promise.all([text(stdout), text(stderr)]);
  const code = await runCommandLine(args, {
    env: options.env ?? {},
    cwd: options.cwd ?? tmpdir(),
    stdin: Readable.from([options.input ?? ""]) as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    signal: new AbortController().signal,
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
  const child = spawn(process.execPath, ["--conditions=@keelson/source", MAIN, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...options.env },
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

export type Request = { method: string; path: string; authorization: string | undefined; body: unknown };

/** A server that speaks as much of the wire as a test says, and the environment to reach it. */
export async function startServer(reply: (request: Request, response: ServerResponse) => void) {
  const requests: Request[] = [];
  const server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const isJson = incoming.headers["content-type"] === "application/json";
      const request = {
        method: incoming.method ?? "",
        path: incoming.url ?? "",
        authorization: incoming.headers.authorization,
        body: isJson ? JSON.parse(body) : body,
      };
      requests.push(request);
      reply(request, response);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    env: { KEELSON_URL: url, KEELSON_API_KEY: "kl_key_test" },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

export function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export const refuse = (response: ServerResponse, status: number, code: string): void =>
  answer(response, status, { error: { code, message: `It is ${code}`, details: null, request_id: "req-7" } });

export function stream(
  response: ServerResponse,
  events: readonly (readonly [event: string, id: string, data: unknown])[],
): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [event, id, data] of events)
    response.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  response.end();
}

export const run = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: "run_1",
  task: "report",
  actor: null,
  status: "queued",
  status_reason: null,
  attempt_number: null,
  max_attempts: 3,
  failure: null,
  output: null,
  payload: null,
  queue: "default",
  tags: [],
  metadata: {},
  deployment_version: "20261120.1",
  created_at: "2026-11-20T09:15:00.123Z",
  started_at: null,
  finished_at: null,
  ...fields,
});
