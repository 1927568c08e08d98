/** What is said of a clock of this machine that is ahead of PostgreSQL's by so many milliseconds. Nothing is decided by it. */
export function describeClock(aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  return `The clock of this machine is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} PostgreSQL's. Keelson follows PostgreSQL's; synchronize both.`;
}
