import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { toWireDuration, type DurationInput } from "./duration-input.ts";
import { UsageError } from "./keelson-error.ts";

/** Options of `wait.for()` and `wait.until()`. */
export type TimerOptions = {
  /** The name of the wait in the console and the command. Default `for` and `until`. */
  name?: string;
};

/** Waits for a time. A token, input or a child run is waited for by its own call. */
export type Wait = {
  /**
   * Waits for a duration: `wait.for("15m")`. A waiting run holds no slot, and after a while no process, so the duration
   * can be days. A replay counts the time from the first call.
   */
  for(duration: DurationInput, options?: TimerOptions): Promise<void>;
  /** Waits until that time. A time in the past ends the wait at once. */
  until(time: Date | string, options?: TimerOptions): Promise<void>;
};

function toTimestamp(time: Date | string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime()))
    throw new UsageError(`wait.until() needs a date or an RFC 3339 time, not ${String(time)}`);
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
