import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { createRunCounting } from "../core/run-rollups/count-ended-runs.ts";
import { sampleRunGauges } from "../core/run-rollups/sample-run-gauges.ts";
import { BACKGROUND_LIMIT_MS } from "../db/session-settings.ts";
import type { Timekeeper } from "../time/timekeeper.ts";
import { UNASKED_INTERVAL_MS, type LoopWork } from "./loop.ts";

/** Runs that end while the loop pauses share the rows that it writes. */
const COUNT_INTERVAL_MS = 5_000;
const COUNT_SHARE = 0.1;
const SAMPLE_INTERVAL_MS = 15_000;
const SAMPLE_SHARE = 0.02;

/** Counts ended runs by minute and hour, and samples queues and workers. Every replica runs them, one at a time does it. */
export const rollupLoops = (
  context: ItemContext & { timekeeper: Pick<Timekeeper, "isSettled"> },
): LoopWork[] => [
  {
    name: "count-ended-runs",
    intervalMs: COUNT_INTERVAL_MS,
    unaskedIntervalMs: UNASKED_INTERVAL_MS,
    maxShare: COUNT_SHARE,
    run: createRunCounting({ ...context, isSettled: context.timekeeper.isSettled }),
  },
  {
    name: "sample-run-gauges",
    intervalMs: SAMPLE_INTERVAL_MS,
    maxShare: SAMPLE_SHARE,
    // A crash that loses a sample loses nothing that anybody was promised.
    run: () =>
      context.db.transaction((tx) => sampleRunGauges(tx, context.clock(), SAMPLE_INTERVAL_MS * 0.8), {
        durability: "relaxed",
        limitMs: BACKGROUND_LIMIT_MS,
      }),
  },
];
