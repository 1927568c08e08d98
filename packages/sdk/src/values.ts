import type { LocateRun } from "./current-run.ts";
import { currentTimeMs } from "./client/clock.ts";
import { randomFraction } from "./client/random.ts";

export type Values = {
  /** The time. The run's journal stores it, so a replay returns the same time. */
  now(): Date;
  /** A random number from 0 up to 1, stored like the time. */
  random(): number;
  /** A random UUID (version 4), stored like the time. */
  uuid(): string;
};

/** Inside a step, each try gets new values, because only the step's result is stored. */
export function createValues(locate: LocateRun): Values {
  const draw = <T>(name: string, make: () => T): T => {
    const { run, step } = locate(`${name}()`);
    return step === null ? run.value(name, make) : make();
  };
  return {
    now: () => new Date(draw("now", currentTimeMs)),
    random: () => draw("random", randomFraction),
    uuid: () => draw("uuid", () => crypto.randomUUID()),
  };
}
