import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { toWireDuration, type DurationInput } from "./duration-input.ts";

/** Options of `wait.for()` and `wait.until()`. */
export type TimerOptions = {
  /** Shown as what the run waits for. Default `for` and `until`. */
  name?: string;
};

/** Waits for a time. A token, input or a child run is waited for by its own call. */
export type Wait = {
  /**
   * Waits that long from now: `wait.for("15m")`. A waiting run holds no slot, and after a while no process either, so it
   * may be days. When the run goes on, the time is counted from the first call.
   */
  for(duration: DurationInput, options?: TimerOptions): Promise<void>;
  /** Waits until that time; one that is over is over at once. */
  until(time: Date | string, options?: TimerOptions): Promise<void>;
};

function toTimestamp(time: Date | string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime()))
    throw new RangeError(`wait.until() needs a date or an RFC 3339 time, not ${String(time)}`);
  return date.toISOString();
}

export function createWait(locate: LocateRun): Wait {
  return {
    async for(duration, { name = "for" } = {}) {
      const run = locateOutsideStep(locate, "wait.for()");
      await run.wait(name, { kind: "timer", timeout: toWireDuration(duration, "wait.for()") });
    },
    async until(time, { name = "until" } = {}) {
      const run = locateOutsideStep(locate, "wait.until()");
      await run.wait(name, { kind: "timer", timeout_at: toTimestamp(time) });
    },
  };
}
