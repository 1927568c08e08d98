import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { cellOfRequest } from "@keelson/contract/plain";
import type { Cells } from "./cells.ts";
import { createForwarder, type Target } from "./forward.ts";
import { replyHealth } from "./own-replies.ts";

export type RouterOptions = {
  cells: Cells;
  host: string;
  port: number;
  /** How long a router that was told to stop goes on taking requests. */
  drainDelayMs: number;
  /** Told once of each tag that no cell has. */
  onUnknownCell: (tag: string) => void;
};

export type RunningRouter = { url: string; close: () => Promise<void> };

/** As the server has it. */
const HEADERS_TIMEOUT_MS = 20_000;
/** Longer than load balancers keep a connection, so that it is not the router that closes one just as it is used. */
const IDLE_MS = 75_000;
/** How long a stopping router waits for the requests under way. */
const MAX_CLOSE_MS = 10_000;
/** Anybody can invent tags. */
const MAX_UNKNOWN = 20;

/** Starts a router: each request goes to the cell of its credential. */
export async function startRouter(options: RouterOptions): Promise<RunningRouter> {
  const forwarder = createForwarder();
  const targetsOf = createChoice(options);
  let isDraining = false;

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    response.on("error", () => undefined);
    request.on("error", () => undefined);
    if (isDraining) response.setHeader("connection", "close");
    const path = request.url?.split("?", 1)[0];
    if (path === "/healthz") return replyHealth(request, response, { isReady: true });
    if (path === "/readyz") return replyHealth(request, response, { isReady: !isDraining });
    try {
      forwarder.forward(request, response, targetsOf(request));
    } catch {
      // A request that Node reads and does not send. Thrown from here, it would end the router for all cells.
      response.destroy();
    }
  };

  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: IDLE_MS,
    // Uploads and followers may take long; the cell watches their rate.
    requestTimeout: 0,
    noDelay: true,
  });
  server.on("request", handle);
  // The cell says whether it wants the body, and which expectations it knows.
  server.on("checkContinue", handle);
  server.on("checkExpectation", handle);
  server.listen(options.port, options.host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const close = async (): Promise<void> => {
    isDraining = true;
    if (options.drainDelayMs > 0) await sleep(options.drainDelayMs);
    const closed = once(server, "close");
    server.close();
    forwarder.endEventStreams();
    const idle = setInterval(() => server.closeIdleConnections(), 20);
    const all = setTimeout(() => server.closeAllConnections(), MAX_CLOSE_MS);
    await closed;
    clearInterval(idle);
    clearTimeout(all);
    forwarder.close();
  };
  let closing: Promise<void> | undefined;
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, close: () => (closing ??= close()) };
}

function createChoice({ cells, onUnknownCell }: RouterOptions): (request: IncomingMessage) => Target[] {
  const targets = [...cells.addresses].map(([cell, address]) => ({ cell, address }));
  const byTag = new Map(targets.map((target) => [target.cell, target]));
  const byDefault = targets.filter(({ cell }) => cell === cells.byDefault);
  const others = targets.filter(({ cell }) => cell !== cells.byDefault);
  const unknown = new Set<string>();
  return ({ method, url = "/", headers: { authorization } }) => {
    // A browser's question before a request has no credential, and all cells answer it alike: any that runs will do.
    if (method === "OPTIONS") return [...byDefault, ...others];
    const tag = cellOfRequest({ url, authorization });
    const target = tag === null ? undefined : byTag.get(tag);
    if (target !== undefined) return [target];
    if (tag !== null && !unknown.has(tag) && unknown.size < MAX_UNKNOWN) {
      unknown.add(tag);
      onUnknownCell(tag);
    }
    // It refuses the credential of another cell as it refuses any that is wrong, and counts the caller's failures.
    return byDefault;
  };
}
