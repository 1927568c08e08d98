// A clock that a test moves forward.

import { systemClock, type Clock } from "../../src/clock.ts";

export interface TestClock {
  readonly now: Clock;
  /** The server's loops see the new time at their next round. */
  advance(ms: number): void;
}

/** It goes on as the machine's clock does, ahead of it by all that it was advanced. */
export function createTestClock(): TestClock {
  let ahead = 0;
  return {
    now: () => systemClock() + ahead,
    advance: (ms) => {
      ahead += ms;
    },
  };
}
