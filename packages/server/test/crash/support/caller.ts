// HTTP as a client of a failing service sees it: an answer, or no answer and nothing known.

import { Agent, request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  /** Whether it says when to ask again. */
  readonly retryAfter: boolean;
  // What a route answered is looked into freely by a test.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export interface CallOptions {
  /** Empty: nobody. */
  readonly as?: string;
  readonly body?: unknown;
  readonly bytes?: Buffer;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Rejects when there is no complete answer; whether the server acted is unknown then. */
export type Caller = (url: string, method: string, path: string, options?: CallOptions) => Promise<Answer>;

const TIMEOUT_MS = 5_000;

export function createCaller(credential: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 128 });
  return (url, method, path, options = {}) =>
    new Promise((resolve, reject) => {
      const bytes =
        options.bytes ?? (options.body === undefined ? null : Buffer.from(JSON.stringify(options.body)));
      const type = options.bytes === undefined ? "application/json" : "application/octet-stream";
      const { signal } = options;
      const sent = request(
        url + path,
        {
          agent,
          method,
          ...(signal === undefined ? {} : { signal }),
          headers: {
            ...(options.as === "" ? {} : { authorization: `Bearer ${options.as ?? credential}` }),
            ...(bytes === null ? {} : { "content-type": type, "content-length": bytes.length }),
          },
        },
        (incoming) => {
          const parts: Buffer[] = [];
          incoming.on("data", (part: Buffer) => parts.push(part));
          incoming.on("error", fail);
          incoming.on("close", () => {
            clearTimeout(timer);
            if (!incoming.complete) return fail(new Error("the answer was cut"));
            const text = Buffer.concat(parts).toString();
            const replayed = incoming.headers["idempotency-replayed"] === "true";
            resolve({
              status: incoming.statusCode ?? 0,
              replayed,
              retryAfter: incoming.headers["retry-after"] !== undefined,
              body: text === "" ? null : JSON.parse(text),
            });
          });
        },
      );
      const fail = (error: Error): void => {
        clearTimeout(timer);
        reject(error);
      };
      const timer = setTimeout(
        () => sent.destroy(new Error(`no answer in time: ${method} ${path}`)),
        options.timeoutMs ?? TIMEOUT_MS,
      );
      sent.on("error", fail);
      sent.end(bytes ?? undefined);
    });
}
