import type { LocateRun } from "./current-run.ts";
import { currentTimeMs } from "./client/clock.ts";
import { randomFraction } from "./client/random.ts";

export type Values = {
  /** The time. The run's journal keeps it: when the code is replayed it is the same again. */
  now(): Date;
  /** A number from 0 up to 1, kept like the time. */
  random(): number;
  /** A random UUID (version 4), kept like the time. */
  uuid(): string;
};

/** Inside a step values are drawn anew: the step's result is what is kept. */
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
