// What one durable insert takes, of a caller that does nothing else: how slow the machine is just now.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Site } from "./site.ts";

const PAUSE_MS = 50;

export interface DurableFloor {
  /** @returns milliseconds of the inserts since the last call: their median. */
  p50(): number;
  stop(): Promise<void>;
}

/** Inserts a row into a table of its own again and again, with a pause after each. */
export async function startDurableFloor({ postgres }: Pick<Site, "postgres">): Promise<DurableFloor> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query("CREATE TABLE floor_of_this_machine (at timestamptz)");
  let isOver = false;
  let took: number[] = [];
  const insert = async (): Promise<void> => {
    while (!isOver) {
      const begun = performance.now();
      await client.query("INSERT INTO floor_of_this_machine VALUES (now())");
      took.push(performance.now() - begun);
      await sleep(PAUSE_MS);
    }
  };
  const inserting = insert();
  inserting.catch(() => undefined);
  return {
    p50: () => {
      const sorted = took.toSorted((a, b) => a - b);
      took = [];
      return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
    },
    stop: async () => {
      isOver = true;
      await inserting;
      await client.end();
    },
  };
}
