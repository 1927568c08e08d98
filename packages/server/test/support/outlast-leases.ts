// What makes a silent worker a lost one: time, and somebody else who is there for all of it.

import type { ApiServer } from "./api-server.ts";
import { enrollWorker, type RawWorker } from "./raw-worker.ts";
import type { TestClock } from "./test-clock.ts";

/** Of each server, the worker that does nothing but live. */
const witnesses = new WeakMap<ApiServer, RawWorker>();

/**
 * Passes 16 seconds in which another worker of the default group is heard, so that the leases of 15 seconds that nobody renews
 * are given up. Whoever was heard in that time keeps what it has.
 */
export async function outlastLeases({
  server,
  clock,
}: {
  server: ApiServer;
  clock: TestClock;
}): Promise<void> {
  const witness = witnesses.get(server) ?? (await enrollWorker(server));
  witnesses.set(server, witness);
  await beat(witness);
  for (let step = 0; step < 2; step += 1) {
    clock.advance(8_000);
    await beat(witness);
  }
}

async function beat(witness: RawWorker): Promise<void> {
  const { status, text } = await witness.call("POST", "/heartbeat", {});
  if (status !== 200) throw new Error(text);
}
