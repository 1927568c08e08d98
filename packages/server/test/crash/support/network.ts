// A network between two programs that can fall silent: no byte arrives, nobody is told, and no connection is reset.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Network {
  /** The way to the target. */
  readonly url: string;
  /** From now on nothing arrives on either side; what is sent waits, as TCP sends again what is not acknowledged. */
  silence(): void;
  /** What was sent meanwhile arrives, and all that comes after it. */
  heal(): void;
  close(): Promise<void>;
}

export async function startNetwork(target: string): Promise<Network> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: hostname, port: Number(port), noDelay: true });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("data", (bytes) => other.write(bytes));
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (isSilent) socket.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    silence: () => {
      isSilent = true;
      for (const socket of sockets) socket.pause();
    },
    heal: () => {
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
