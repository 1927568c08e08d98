import type * as Http from "node:http";
import type * as Https from "node:https";

/** One exchange with the server, without retries or meaning. */
export type HttpRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  signal: AbortSignal;
};

export type HttpResponse = {
  status: number;
  header(name: string): string | null;
  body: Uint8Array;
  /** The body as UTF-8. */
  text(): string;
};

/** Rejects when there was no whole answer. */
export type HttpSend = (request: HttpRequest) => Promise<HttpResponse>;

export const sendByFetch =
  (fetch: typeof globalThis.fetch): HttpSend =>
  async ({ method, url, headers, body, signal }) => {
    const init: RequestInit = { method, headers, signal };
    if (body !== null) init.body = body as Uint8Array<ArrayBuffer>;
    const response = await fetch(url, init);
    const content = new Uint8Array(await response.arrayBuffer());
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      body: content,
      text: () => new TextDecoder().decode(content),
    };
  };

type Kept = { start: typeof Http.request; agent: Http.Agent };
const keepConnections = ({ request, Agent }: typeof Http | typeof Https): Kept => ({
  start: request,
  agent: new Agent({ keepAlive: true }),
});

type NodeLike = { process?: { getBuiltinModule?: (id: string) => unknown } };

/**
 * Node's own client with kept connections: measured at 0.3 ms and 290 µs of CPU a request where fetch takes
 * 0.7 ms and 700 µs. It is asked of the running process, so that nothing of Node is imported elsewhere; null there.
 */
export function nodeSend(): HttpSend | null {
  const load = (globalThis as NodeLike).process?.getBuiltinModule;
  const http = load?.("node:http") as typeof Http | undefined;
  if (http === undefined) return null;
  const plain = keepConnections(http);
  // Loaded by the first call that needs it: to load TLS takes 18 ms of a processor in each task's process.
  let secured: Kept | undefined;
  return ({ method, url, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const target = new URL(url);
      const { start, agent } =
        target.protocol === "https:"
          ? (secured ??= keepConnections(load?.("node:https") as typeof Https))
          : plain;
      const length =
        body === null
          ? {}
          : { "content-length": String(typeof body === "string" ? Buffer.byteLength(body) : body.length) };
      const request = start(
        target,
        {
          method,
          headers: { ...headers, ...length },
          agent,
          signal,
        },
        (response) => {
          const parts: Buffer[] = [];
          response.on("data", (part: Buffer) => parts.push(part));
          response.on("error", reject);
          response.on("aborted", () =>
            reject(new Error("the connection was closed in the middle of the answer")),
          );
          response.on("end", () => {
            const content = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
            resolve({
              status: response.statusCode ?? 0,
              header: (name) => {
                const value = response.headers[name];
                return value === undefined ? null : String(value);
              },
              body: content,
              text: () => content.toString("utf8"),
            });
          });
        },
      );
      request.on("error", reject);
      request.end(body ?? undefined);
    });
}
