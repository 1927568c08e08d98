import type { Timekeeper } from "./timekeeper.ts";

/** What is wrong with the clock of this machine, and what to do; null: nothing. Keelson decides nothing by it. */
export function describeClock({
  isWallClockWrong,
  wallClockAheadMs,
}: Pick<Timekeeper, "isWallClockWrong" | "wallClockAheadMs">): string | null {
  if (!isWallClockWrong()) return null;
  const aheadMs = wallClockAheadMs();
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  return `The clock of this machine is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} PostgreSQL's. Keelson follows PostgreSQL's; synchronize both.`;
}
