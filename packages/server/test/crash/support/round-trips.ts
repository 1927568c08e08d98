// What is counted of a way to PostgreSQL that is long: round trips that wait for one another.

import assert from "node:assert/strict";
import { longestChain, type DistantPostgres, type Flight } from "./distant-postgres.ts";

/** Much longer than what a server and an agent do between two round trips: what goes beside the path adds none then. */
const DISTANCE_MS = 100;
/** Of so many the median counts: what is looked at now and then anyway may be in the way of one. */
const TIMES = 5;

const shown = (chain: readonly Flight[]): string =>
  chain
    .map(({ texts }) => texts.map((text) => text.replace(/\s+/g, " ").slice(0, 120)).join("; "))
    .join("\n");

/**
 * Asserts how many round trips `work` takes at most, one after the other: of the median, whose statements are shown.
 *
 * @param prepare what is done before each, and not counted
 */
export async function assertRoundTrips(
  distant: DistantPostgres,
  most: number,
  work: () => Promise<void>,
  prepare = (): Promise<void> => Promise.resolve(),
): Promise<void> {
  const chains: Flight[][] = [];
  // The first one makes connections, and prepares statements.
  for (let time = -1; time < TIMES; time += 1) {
    await prepare();
    distant.setDistance(DISTANCE_MS);
    const chain = longestChain(await distant.flightsOf(work));
    distant.setDistance(0);
    if (time >= 0) chains.push(chain);
  }
  chains.sort((a, b) => a.length - b.length);
  const chain = chains[Math.floor(TIMES / 2)] as Flight[];
  assert.ok(chain.length <= most, `${chain.length} round trips, at most ${most}:\n${shown(chain)}`);
}
