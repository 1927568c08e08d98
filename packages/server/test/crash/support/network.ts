// A network between two programs that can fall silent: no byte arrives, nobody is told, and no connection is reset.

import { passBytes, startSocketRelay } from "./socket-relay.ts";

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
  let isSilent = false;
  const relay = await startSocketRelay(
    () => ({ host: hostname, port: Number(port) }),
    (near, far) => {
      passBytes(near, far);
      if (!isSilent) return;
      near.pause();
      far.pause();
    },
  );
  return {
    url: `http://127.0.0.1:${relay.port}`,
    silence: () => {
      isSilent = true;
      for (const socket of relay.sockets) socket.pause();
    },
    heal: () => {
      isSilent = false;
      for (const socket of relay.sockets) socket.resume();
    },
    close: relay.close,
  };
}
