// What one durable insert takes, of a caller that does nothing else: how slow the machine is just now.

import pg from "pg";
import type { Site } from "./site.ts";

const PACE_MS = 50;

export interface DurableFloor {
  /** @returns milliseconds of the inserts since the last call: their median. */
  p50(): number;
  stop(): Promise<void>;
}

/** Inserts a row into a table of its own at an even pace, one at a time. */
export async function startDurableFloor({ postgres }: Pick<Site, "postgres">): Promise<DurableFloor> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query("CREATE TABLE floor_of_this_machine (at timestamptz)");
  let took: number[] = [];
  let inserting: Promise<void> | null = null;
  const insert = async (): Promise<void> => {
    const begun = performance.now();
    await client.query("INSERT INTO floor_of_this_machine VALUES (now())");
    took.push(performance.now() - begun);
    inserting = null;
  };
  // After a failure none is tried any more, and `stop` says why.
  const timer = setInterval(() => {
    if (inserting !== null) return;
    inserting = insert();
    inserting.catch(() => undefined);
  }, PACE_MS);
  return {
    p50: () => {
      const sorted = took.toSorted((a, b) => a - b);
      took = [];
      return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
    },
    stop: async () => {
      clearInterval(timer);
      await inserting;
      await client.end();
    },
  };
}
