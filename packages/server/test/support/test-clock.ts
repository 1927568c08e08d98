// A clock that a test moves forward.

import { systemClock, type Clock } from "../../src/clock.ts";

export interface TestClock {
  readonly now: Clock;
  /** The server's loops see the new time at their next round. */
  advance(ms: number): void;
  /** From now on it goes on as the machine's clock does, until it is told to stand. */
  run(): void;
  stand(): void;
}

/** It stands still where the machine's clock was when it was made, however long the machine takes, until it is advanced. */
export function createTestClock(): TestClock {
  let now = systemClock();
  let runsSince: number | null = null;
  const read = (): number => now + (runsSince === null ? 0 : systemClock() - runsSince);
  return {
    now: read,
    advance: (ms) => {
      now += ms;
    },
    run: () => {
      runsSince ??= systemClock();
    },
    stand: () => {
      now = read();
      runsSince = null;
    },
  };
}
