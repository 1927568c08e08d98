import {
  Agent as HttpAgent,
  request as requestHttp,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { replyUnavailable } from "./own-replies.ts";

/** The cells that may take a request, in the order in which they are tried. */
export type Target = { cell: string; address: URL };

export type Forwarder = {
  forward(request: IncomingMessage, response: ServerResponse, targets: readonly Target[]): void;
  /** Ends all open event streams as their server does when it stops: their readers connect again. */
  endEventStreams(): void;
  close(): void;
};

const CONNECT_TIMEOUT_MS = 5_000;
/** A machine that has vanished is noticed on connections that wait, such as those of event streams. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 10_000 };

/** Headers of one connection. Source: RFC 9110, section 7.6.1. */
const OF_ONE_CONNECTION = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
]);
/** Methods that change nothing, so that a request may be sent again although its outcome is unknown. */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

export function createForwarder(): Forwarder {
  const agents = { http: new HttpAgent(KEEP_ALIVE), https: new HttpsAgent(KEEP_ALIVE) };
  const eventStreams = new Set<() => void>();

  const open = (request: IncomingMessage, { address }: Target, isFresh: boolean): ClientRequest => {
    const isHttps = address.protocol === "https:";
    const options = {
      method: request.method,
      path: request.url,
      headers: forwardedHeaders(request, address.host),
      agent: isFresh ? false : isHttps ? agents.https : agents.http,
    };
    return isHttps ? requestHttps(address, options) : requestHttp(address, options);
  };

  const attempt = (
    request: IncomingMessage,
    response: ServerResponse,
    [target, ...others]: readonly Target[],
    isFresh: boolean,
  ): void => {
    if (target === undefined) throw new Error("A request has no cell.");
    const upstream = open(request, target, isFresh);
    const isConnected = limitConnecting(upstream);
    const leave = (): void => void upstream.destroy();
    response.once("close", leave);
    upstream.on("continue", () => response.writeContinue());
    upstream.once("response", (answer) => {
      const end = relay(answer, response);
      if (!isEventStream(answer)) return;
      eventStreams.add(end);
      response.once("close", () => eventStreams.delete(end));
    });
    upstream.on("error", () => {
      response.off("close", leave);
      request.unpipe(upstream);
      // Whatever is still sent is dropped: with unread data in it, a connection cannot carry a reply to its end.
      request.resume();
      // Of a reply that has begun, `relay` notices whether it is whole.
      if (response.destroyed || response.headersSent) return;
      const wasReached = isConnected();
      const isSafe = SAFE.has(request.method ?? "") && !hasBody(request);
      // The cell closed a connection just as it was used again.
      if (isSafe && upstream.reusedSocket && !isFresh)
        return attempt(request, response, [target, ...others], true);
      if (isSafe && others.length > 0) return attempt(request, response, others, false);
      replyUnavailable(request, response, { cell: target.cell, wasReached });
    });
    if (!hasBody(request)) return void upstream.end();
    // The cell may refuse a request by its headers, however late the body comes.
    upstream.flushHeaders();
    request.pipe(upstream);
  };

  return {
    forward: (request, response, targets) => attempt(request, response, targets, false),
    endEventStreams: () => {
      for (const end of eventStreams) end();
    },
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

const isEventStream = ({ headers }: IncomingMessage): boolean =>
  headers["content-type"]?.startsWith("text/event-stream") === true;

/** Gives up a connection that is not made in time. @returns whether it was made, so that the cell may have the request */
function limitConnecting(upstream: ClientRequest): () => boolean {
  let isConnected = false;
  upstream.once("socket", (socket) => {
    if (!socket.connecting) return void (isConnected = true);
    const timer = setTimeout(
      () => upstream.destroy(new Error("The cell does not answer.")),
      CONNECT_TIMEOUT_MS,
    );
    socket.once("close", () => clearTimeout(timer));
    // Of https: after the handshake, because nothing of a request is sent before.
    socket.once("encrypted" in socket ? "secureConnect" : "connect", () => {
      isConnected = true;
      clearTimeout(timer);
    });
  });
  return () => isConnected;
}

/** Sends a reply on as it comes. @returns what ends it before its end without an error */
function relay(answer: IncomingMessage, response: ServerResponse): () => void {
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, keptHeaders(answer));
  // A reply without a length may pause for long, before its first byte too.
  if (answer.headers["content-length"] === undefined) response.flushHeaders();
  answer.pipe(response);
  answer.on("error", () => undefined);
  // The caller sees by the broken connection that the reply is not whole.
  answer.once("close", () => {
    if (!answer.complete && !response.writableEnded) response.destroy();
  });
  return () => {
    answer.unpipe(response);
    response.end();
    answer.destroy();
  };
}

/** Header lines as they came, without those of the connection. */
function keptHeaders({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const kept: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const lowerCase = name.toLowerCase();
    if (!OF_ONE_CONNECTION.has(lowerCase) && !named.has(lowerCase))
      kept.push(name, rawHeaders[at + 1] as string);
  }
  return kept;
}

/** As `KEELSON_TRUSTED_PROXIES` of the cell expects: each proxy adds whom it heard. */
function forwardedHeaders(request: IncomingMessage, host: string): string[] {
  const kept: string[] = [];
  const addresses: string[] = [];
  const all = keptHeaders(request);
  for (let at = 0; at < all.length; at += 2) {
    const [name, value] = [all[at] as string, all[at + 1] as string];
    if (name.toLowerCase() === "x-forwarded-for") addresses.push(value);
    else if (name.toLowerCase() !== "host") kept.push(name, value);
  }
  addresses.push(request.socket.remoteAddress ?? "unknown");
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const isEmpty = !isChunked && request.headers["content-length"] === undefined;
  return [
    ...["host", host, ...kept, "x-forwarded-for", addresses.join(", ")],
    ...(isChunked ? ["transfer-encoding", "chunked"] : []),
    ...(isEmpty && !SAFE.has(request.method ?? "") ? ["content-length", "0"] : []),
  ];
}
