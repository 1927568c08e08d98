// A worker that does nothing but live, with room for all kinds of work: with it in the group, whoever falls silent is given up.

import { enrollRawWorker } from "./raw-worker.ts";
import type { Site } from "./site.ts";

/** More often than any lease of a test needs. */
const BEAT_MS = 500;

/** @returns ends it */
export async function keepWitness(site: Site): Promise<() => Promise<void>> {
  const [server] = site.servers;
  if (server === undefined) throw new Error("There is no server that could hear a witness.");
  const witness = await enrollRawWorker(site, server, "witness", 1);
  let beat = Promise.resolve();
  const beating = setInterval(() => {
    // While no server is there it is not heard, as any other.
    beat = beat
      .then(() => witness.post("heartbeat", {}))
      .then(
        () => undefined,
        () => undefined,
      );
  }, BEAT_MS);
  return async () => {
    clearInterval(beating);
    await beat;
  };
}
