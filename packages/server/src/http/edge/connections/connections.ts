import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { BlockList, isIPv6, Socket } from "node:net";
import type { Logger } from "pino";
import { callerAddress } from "../caller-address.ts";
import { refuseSlowBody } from "./refuse-slow.ts";
import { beginBody, watchBody } from "./body-deadline.ts";
import { makeRoom, pastBudget, type Counted } from "./connection-budget.ts";
import { isAnswering, isIdle, type Connection } from "./connection.ts";

/**
 * The connections of all callers: what waits for a caller has a deadline, and what nobody has shown a credential on has
 * a budget. One timer looks at all of them, so that a request costs a few assignments.
 */
export type Connections = {
  /** A request's headers have come. `ip` is asked for only behind a proxy. */
  begin(message: IncomingMessage, response: ServerResponse, caller: { readonly ip: string }): void;
  /** The request has a valid credential. */
  prove(message: IncomingMessage): void;
  /** The request's body is a bundle, a blob or a file. */
  noteUpload(message: IncomingMessage): void;
  count(): number;
  /** Ends those that have sent nothing, such as those that browsers open in advance: nobody waits for an answer on them. */
  endUnused(): void;
};

export type ConnectionOptions = {
  trustedProxies: readonly string[];
  /** For each address, without a valid credential; 0 is unlimited. */
  perAddress: number;
  /** In all. */
  max: number;
  log: Logger;
  now?: () => number;
};

const LOOK_MS = 1_000;
const LOG_INTERVAL_MS = 60_000;

export function createConnections(server: Server, options: ConnectionOptions): Connections {
  const { perAddress, max, log, now = () => performance.now() } = options;
  const open = new Map<Socket, Connection>();
  const isProxy = proxyTest(options.trustedProxies);
  let toldAt = Number.NEGATIVE_INFINITY;

  const end = (ended: readonly Unproven[], reason: string): void => {
    for (const { connection } of ended) connection.socket.destroy();
    const [first] = ended;
    if (first === undefined || now() - toldAt < LOG_INTERVAL_MS) return;
    toldAt = now();
    log.warn({ closed: ended.length, address: first.address, reason }, "connections closed");
  };

  const track = (socket: Socket): Connection => {
    const known = open.get(socket);
    if (known !== undefined) return known;
    if (open.size >= max) {
      // Some more than one, so that not every newcomer has to look at all of them.
      end(makeRoom(unprovenOf(open), 1 + Math.floor(max / 8), now()), "the process can open no more");
    }
    const connection: Connection = {
      socket,
      isProxy: isProxy(socket.remoteAddress),
      address: callerAddress(socket.remoteAddress),
      isProven: false,
      since: now(),
      message: null,
      response: null,
      isUpload: false,
      progress: null,
    };
    open.set(socket, connection);
    socket.once("close", () => open.delete(socket));
    return connection;
  };

  const timer = setInterval(() => {
    const at = now();
    for (const connection of open.values()) if (isLate(connection, at)) refuseSlowBody(connection);
    end(pastBudget(unprovenOf(open), perAddress, at), "too many of an address without a credential");
  }, LOOK_MS).unref();
  server.on("connection", track);
  server.once("close", () => clearInterval(timer));

  return {
    begin: (message, response, caller) => {
      // A route that calls another one has no connection: nothing closes what stands for it.
      if (!(message.socket instanceof Socket)) return;
      const connection = track(message.socket);
      connection.message = message;
      connection.response = response;
      connection.since = now();
      connection.isUpload = false;
      connection.progress = null;
      if (!connection.isProxy) return;
      connection.isProven = false;
      connection.address = callerAddress(caller.ip);
    },
    prove: ({ socket }) => note(open.get(socket), "isProven"),
    noteUpload: ({ socket }) => note(open.get(socket), "isUpload"),
    count: () => open.size,
    endUnused: () => {
      for (const { socket } of open.values()) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

function note(connection: Connection | undefined, what: "isProven" | "isUpload"): void {
  if (connection !== undefined) connection[what] = true;
}

type Unproven = Counted & { connection: Connection };

/** Those that are counted. A proxy keeps connections open between the requests of its callers. */
function unprovenOf(open: ReadonlyMap<Socket, Connection>): Unproven[] {
  const unproven: Unproven[] = [];
  for (const connection of open.values()) {
    const { address, since, isProven } = connection;
    if (isProven || connection.socket.destroyed || (connection.isProxy && isIdle(connection))) continue;
    unproven.push({ address, since, isAnswering: isAnswering(connection), connection });
  }
  return unproven;
}

/** Looks at a body that is still coming. */
function isLate(connection: Connection, at: number): boolean {
  const { message, socket, isUpload } = connection;
  if (message === null || message.complete || socket.destroyed) return false;
  const next = watchBody((connection.progress ??= beginBody(at)), {
    now: at,
    bytesRead: socket.bytesRead,
    hasData: message.readableLength > 0 || message.readableDidRead,
    isHeldBack: message.readableLength >= message.readableHighWaterMark,
    isUpload,
  });
  if (next === "late") return true;
  connection.progress = next;
  return false;
}

function proxyTest(trusted: readonly string[]): (address: string | undefined) => boolean {
  const proxies = new BlockList();
  for (const text of trusted) {
    const [address = "", bits] = text.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  return (address) =>
    address !== undefined && trusted.length > 0 && proxies.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
