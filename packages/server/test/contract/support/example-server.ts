import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, decodeBase64 } from "../../../../sdk/src/index.ts";
import { completeToken, createSessionClient } from "../../../../sdk/src/browser.ts";
import { operations, type Any } from "./document.ts";

const matchers = operations
  .map(({ method, path, operation }) => ({
    method,
    operation,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
  }))
  // What is spelled out goes before what takes any id.
  .toSorted((a, b) => a.pattern.source.split("[^/]+").length - b.pattern.source.split("[^/]+").length);

/** As it is when it has ended: who waits for the end of what an example shows as running would wait for ever. */
function ended(example: Any, isStopped: boolean): Any {
  if (isStopped && example?.materialization !== undefined) return { ...example, materialization: null };
  return Array.isArray(example?.records) || Array.isArray(example?.chunks)
    ? { ...example, ended: true }
    : example;
}

/** A server that answers each request with the example of its operation, and remembers which were called. */
export async function startExampleServer(): Promise<AsyncDisposable & { url: string; called: Set<string> }> {
  const called = new Set<string>();
  const server = createServer((request, response) => {
    const url = new URL(request.url as string, "http://localhost");
    request.resume();
    const match = matchers.find(
      ({ method, pattern }) => method === request.method && pattern.test(url.pathname),
    );
    if (match === undefined) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"error":{"code":"route_not_found","message":"no","details":null,"request_id":"1"}}');
      return;
    }
    called.add(match.operation.operationId);
    const [[status, answer]] = Object.entries<Any>(match.operation.responses) as [[string, Any]];
    const content = answer.content ?? {};
    const stream = content["text/event-stream"];
    const wantsStream =
      url.searchParams.get("follow") === "1" || request.headers.accept === "text/event-stream";
    const [mediaType, media] =
      stream !== undefined && wantsStream
        ? ["text/event-stream", stream]
        : ((Object.entries(content)[0] ?? ["text/plain", { example: "" }]) as [string, Any]);
    const isStopped = called.has("apiStopWorkspace");
    const body =
      mediaType === "application/json" ? JSON.stringify(ended(media.example, isStopped)) : media.example;
    response.writeHead(Number(status), { "content-type": mediaType });
    response.end(status === "204" ? undefined : body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    called,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

type Run = (...given: unknown[]) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...parameters: string[]) => Run;

/** Runs a sample with what it imports, against a server. Nothing is printed. */
export async function runSample(source: string, url: string): Promise<void> {
  const silent = { write: () => true };
  const given = {
    Client: class extends Client {
      constructor() {
        super({ url, apiKey: "kl_key_0" });
      }
    },
    decodeBase64,
    createHash,
    readFile: async () => Buffer.from("export {};"),
    createSessionClient: (options: Any) => createSessionClient({ ...options, url }),
    completeToken: (options: Any) => completeToken({ ...options, url }),
    process: { stdout: silent, stderr: silent },
    console: { log: () => undefined },
  };
  const body = source.replaceAll(/^import .*$/gm, "");
  await new AsyncFunction(...Object.keys(given), body)(...Object.values(given));
}
