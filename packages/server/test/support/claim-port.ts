import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below what systems give to whoever asks for any port, so nobody gets one of these by chance. */
const FIRST_LOCK = 20_000;
const COUNT = 5_000;

/**
 * A port that stays this process's until it ends, for a server that is started again on the same address. Each belongs to another
 * port, on which this process listens meanwhile: whoever finds that one taken leaves both alone.
 */
export async function claimPort(): Promise<number> {
  for (let at = 0; at < COUNT; at += 1) {
    const lock = FIRST_LOCK + ((process.pid + at) % COUNT);
    const port = lock + COUNT;
    const held = await listenOn(lock);
    if (held === null) continue;
    held.unref();
    const free = await listenOn(port);
    if (free === null) continue;
    free.close();
    await once(free, "close");
    return port;
  }
  throw new Error(`All ports from ${FIRST_LOCK + COUNT} to ${FIRST_LOCK + 2 * COUNT - 1} are taken.`);
}

/** Null when somebody else does. */
async function listenOn(port: number): Promise<Server | null> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return null;
    throw error;
  }
}
