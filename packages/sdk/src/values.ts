import type { LocateRun } from "./current-run.ts";
import { randomFraction } from "./client/random.ts";
import type { DurableRun } from "./runtime/durable/durable-run.ts";

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
  const draw = <T>(name: string, make: (run: DurableRun) => T): T => {
    const { run, step } = locate(`${name}()`);
    return step === null ? run.value(name, () => make(run)) : make(run);
  };
  return {
    now: () => new Date(draw("now", ({ clock }) => clock.now())),
    random: () => draw("random", randomFraction),
    uuid: () => draw("uuid", () => crypto.randomUUID()),
  };
}
