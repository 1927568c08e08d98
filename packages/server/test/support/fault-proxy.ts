// What lies between a client and a server, and fails as networks do: a proxy that a test tells what becomes of each request.

import {
  createServer,
  request as connect,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** One request as it came by. */
export type Seen = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  // What was sent is looked into freely by a test.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
  /** Resolves when the client's connection is gone. */
  left: Promise<unknown>;
};

export type Fate =
  | "pass"
  /** The connection breaks and the server hears nothing. */
  | "cut before"
  /** The server has done it, and its answer is lost. */
  | "cut after"
  /** Nothing comes back, ever. */
  | "swallow"
  /** Passes when the promise resolves. */
  | { hold: Promise<unknown> }
  /** The connection breaks in the middle of the event after so many. */
  | { events: number }
  /** What a gateway says instead of the server. */
  | { status: number; headers?: Record<string, string>; body?: Uint8Array };

/**
 * Told of each JSON answer of the server before the client has it, also of one that is lost. What it gives goes to the
 * client in its place.
 */
export type Answered = (seen: Seen, status: number, text: string) => string | undefined;

export type FaultProxy = {
  url: string;
  seen: Seen[];
  /** Breaks the connections of the requests that are not answered yet. */
  cut(where?: (seen: Seen) => boolean): void;
  [Symbol.asyncDispose](): Promise<void>;
};

function forward(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  isRead: boolean,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method } = request;
    const headers = { ...request.headers, ...(isRead && { "accept-encoding": "identity" }) };
    const sent = connect(target + request.url, { method, headers, agent: false }, resolve);
    sent.on("error", reject);
    response.once("close", () => sent.destroy());
    sent.end(body);
  });
}

/** Passes whole events on, then half of the next one. */
async function passEvents(answer: IncomingMessage, response: ServerResponse, count: number): Promise<void> {
  let rest = "";
  let passed = 0;
  for await (const part of answer.setEncoding("utf8") as AsyncIterable<string>) {
    rest += part;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const frame = rest.slice(0, end + 2);
      rest = rest.slice(end + 2);
      if (!frame.includes("data:")) response.write(frame);
      else if (passed === count) {
        response.write(frame.slice(0, frame.length / 2), () => response.destroy());
        return;
      } else {
        passed += 1;
        response.write(frame);
      }
    }
  }
  response.end();
}

async function meet(
  fate: Fate,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  answered?: (status: number, text: string) => string | undefined,
) {
  if (fate === "swallow") return;
  if (fate === "cut before") return request.socket.destroy();
  if (typeof fate === "object" && "status" in fate)
    return response
      .writeHead(fate.status, { "content-type": "text/html", ...fate.headers })
      .end(fate.body ?? "<html>");
  if (typeof fate === "object" && "hold" in fate) await fate.hold;
  const answer = await forward(target, request, response, body, answered !== undefined);
  const isJson = answer.headers["content-type"]?.startsWith("application/json") ?? false;
  if (answered !== undefined && isJson) {
    const text = (await buffer(answer)).toString();
    const given = answered(answer.statusCode ?? 0, text) ?? text;
    if (fate === "cut after") return request.socket.destroy();
    const length = String(Buffer.byteLength(given));
    return response
      .writeHead(answer.statusCode ?? 0, { ...answer.headers, "content-length": length })
      .end(given);
  }
  if (fate === "cut after") {
    await buffer(answer);
    return request.socket.destroy();
  }
  response.writeHead(answer.statusCode ?? 0, answer.headers);
  response.flushHeaders();
  if (typeof fate === "object" && "events" in fate) return passEvents(answer, response, fate.events);
  return answer.pipe(response);
}

/** Stands before the server at `target`. `decide` is asked for each request; without it all pass. */
export async function startFaultProxy(
  target: string,
  decide: (seen: Seen, index: number) => Fate = () => "pass",
  answered?: Answered,
): Promise<FaultProxy> {
  const seen: Seen[] = [];
  const open = new Map<Seen, ServerResponse>();
  const server = createServer((request, response) => {
    const pass = async (): Promise<void> => {
      const body = await buffer(request);
      const isJson = request.headers["content-type"] === "application/json";
      const one: Seen = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: isJson ? (JSON.parse(body.toString()) as unknown) : body,
        left: once(response, "close"),
      };
      seen.push(one);
      open.set(one, response);
      response.once("close", () => open.delete(one));
      const told = answered && ((status: number, text: string) => answered(one, status, text));
      await meet(decide(one, seen.length - 1), target, request, response, body, told);
    };
    // Whatever goes wrong here is one more broken connection to the client.
    void pass().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    cut(where = () => true) {
      for (const [one, response] of open) if (where(one)) response.destroy();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
