import type * as Http from "node:http";
import { ConnectionError } from "./service-error.ts";

export type HttpRequest = {
  method: "GET" | "HEAD" | "POST" | "PUT";
  path: string;
  headers: Record<string, string>;
  /** Text is JSON. */
  body?: string | Uint8Array;
  /** Time from the request to the last byte of the reply. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
};

export type HttpReply = { status: number; headers: Http.IncomingHttpHeaders; body: Buffer };

export type HttpConnection = {
  /** When a success is told, the body has been sent: its memory is the caller's again. */
  send(request: HttpRequest): Promise<HttpReply>;
  close(): void;
};

/**
 * Asked of the process. An `import` of node:http has Node load its fetch as well, and one of node:https has it load TLS: a
 * tenth of an agent's start.
 */
const loadHttp = (secure: boolean): Pick<typeof Http, "Agent" | "request"> =>
  secure ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http");

/**
 * Keep-alive connections to one server on node:http. The global fetch costs about twice the time a request,
 * and the agent's whole throughput goes through two or three of them at once.
 */
export function openHttpConnection(url: string): HttpConnection {
  const base = new URL(url);
  const secure = base.protocol === "https:";
  const prefix = base.pathname.replace(/\/$/, "");
  const options = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets: 16, noDelay: true };
  const http = loadHttp(secure);
  const agent = new http.Agent(options);
  const target = {
    agent,
    host: base.hostname.replace(/^\[|\]$/g, ""),
    port: base.port === "" ? (secure ? 443 : 80) : Number(base.port),
  };

  const send = (request: HttpRequest): Promise<HttpReply> =>
    new Promise((resolve, reject) => {
      const headers: Record<string, string | number> = { ...request.headers };
      if (request.body !== undefined) {
        headers["content-type"] =
          typeof request.body === "string" ? "application/json" : "application/octet-stream";
        headers["content-length"] = Buffer.byteLength(request.body);
      }
      const fail = (cause: unknown) => {
        clearTimeout(timer);
        request.signal?.removeEventListener("abort", abort);
        reject(
          new ConnectionError(
            `${request.method} ${base.origin}${prefix}${request.path}: ${describe(cause)}`,
            { cause },
          ),
        );
      };
      const outgoing = http.request(
        { ...target, method: request.method, path: prefix + request.path, headers },
        (incoming) => {
          const parts: Buffer[] = [];
          const { statusCode: status = 0, headers } = incoming;
          const settle = (): void => {
            clearTimeout(timer);
            request.signal?.removeEventListener("abort", abort);
            const body = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
            resolve({ status, headers, body });
          };
          incoming.on("data", (part: Buffer) => parts.push(part));
          incoming.on("error", fail);
          incoming.on("end", () => {
            if (status < 300 && !outgoing.writableFinished) outgoing.once("finish", settle);
            else settle();
          });
        },
      );
      const abort = () => outgoing.destroy(new Error("aborted by the agent"));
      const timer = setTimeout(
        () => outgoing.destroy(new Error(`no complete reply within ${request.timeoutMs} ms`)),
        request.timeoutMs,
      );
      if (request.signal?.aborted) abort();
      request.signal?.addEventListener("abort", abort, { once: true });
      outgoing.on("error", fail);
      outgoing.end(request.body);
    });

  return { send, close: () => agent.destroy() };
}

function describe(cause: unknown): string {
  const error = cause as NodeJS.ErrnoException;
  return error.message === "" ? (error.code ?? "connection failed") : error.message;
}
