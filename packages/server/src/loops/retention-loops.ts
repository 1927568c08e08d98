import { dropEnded, type RetentionContext } from "../core/retention/drop-ended.ts";
import type { LoopWork } from "./loop.ts";

/** What is kept for days need not go to the minute. */
const INTERVAL_MS = 10 * 60_000;

/** Drops what was kept long enough. Every replica runs it; each transaction is by one of them. */
export const retentionLoops = (context: RetentionContext): LoopWork[] => [
  { name: "drop-ended", intervalMs: INTERVAL_MS, run: () => dropEnded(context) },
];
