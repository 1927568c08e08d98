// A port behind which every connection has one of its own to somewhere else: two sockets that end together.

import { connect, createServer, type AddressInfo, type NetConnectOpts, type Socket } from "node:net";

export interface SocketRelay {
  readonly port: number;
  /** All sockets of both sides that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Ends all connections; new ones are accepted. */
  cut(): void;
  close(): Promise<void>;
}

/**
 * @param target a path of a socket or a place; asked for each connection, which stays there.
 * @param pass connects two new sockets; what comes on one goes to the other unless it is given.
 */
export async function startSocketRelay(
  target: () => string | NetConnectOpts,
  pass: (near: Socket, far: Socket) => void = passBytes,
): Promise<SocketRelay> {
  const sockets = new Set<Socket>();
  // Each message is a write of its own: held together they would wait for each other's acknowledgements.
  const server = createServer({ noDelay: true }, (near) => {
    const place = target();
    const far = typeof place === "string" ? connect(place) : connect({ ...place, noDelay: true });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    pass(near, far);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    cut,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

export function passBytes(near: Socket, far: Socket): void {
  near.on("data", (bytes) => far.write(bytes));
  far.on("data", (bytes) => near.write(bytes));
}
