// What makes a silent worker a lost one: time, and somebody else who is there for all of it.

import type { ApiServer } from "./api-server.ts";
import { enrollWorker, type RawWorker } from "./raw-worker.ts";
import type { TestClock } from "./test-clock.ts";

type Place = { server: ApiServer; clock: TestClock };

/** Less than a lease of 15 seconds. */
const BEAT_MS = 8_000;

/** Of each server, the worker that does nothing but live. */
const witnesses = new WeakMap<ApiServer, RawWorker>();

/** Passes time in which another worker of the default group is heard. */
export async function passHeard({ server, clock }: Place, ms: number): Promise<void> {
  await beat(server);
  for (let left = ms; left > 0; left -= BEAT_MS) {
    clock.advance(Math.min(left, BEAT_MS));
    await beat(server);
  }
}

/** Passes time in which the leases of silent workers end and are given up, as another worker is heard for all of it. */
export const outlastLeases = (place: Place): Promise<void> => passHeard(place, 2 * BEAT_MS);

async function beat(server: ApiServer): Promise<void> {
  const witness = witnesses.get(server);
  // Its token is good for an hour of the test's clock.
  if (witness !== undefined && (await witness.call("POST", "/heartbeat", {})).status === 200) return;
  witnesses.set(server, await enrollWorker(server, { workspaces: 1 }));
}
