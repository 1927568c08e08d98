// What PostgreSQL's clock says, told by this process's monotonic clock.
//
// Servers whose clocks differ must agree on what time it is, because each judges what another has written. They agree on
// the database's clock: each knows how far it is ahead of its own monotonic clock, from questions whose times of asking
// and answering are bounds for the answer (Cristian, "Probabilistic clock synchronization", 1989).

import type { Reading } from "../db/read-time.ts";

export interface DatabaseTime {
  /** Milliseconds since the epoch, whole. It never goes back, unless PostgreSQL's clock was set. */
  now(): number;
  /**
   * Corrects the time by a reading.
   *
   * @returns by how many milliseconds PostgreSQL's clock was set, or went on while this machine slept; 0: it was not
   */
  correct(reading: Reading): number;
}

/** How fast two clocks drift apart at most, in milliseconds a millisecond: what is tolerated of a machine's oscillator. */
const DRIFT = 0.0005;
/** A clock that is corrected by a time service is off by less. */
export const STEP_MS = 2_000;

/** @param monotonic milliseconds that never run backwards */
export function createDatabaseTime(monotonic: () => number, first: Reading): DatabaseTime {
  // PostgreSQL's clock is ahead of the monotonic one by something between these.
  let low = first.databaseMs - first.answeredAt;
  let high = first.databaseMs - first.askedAt;
  let knownAt = first.answeredAt;
  let latest = Number.NEGATIVE_INFINITY;
  const ahead = (): number => (low + high) / 2;
  return {
    now: () => {
      latest = Math.max(latest, Math.floor(monotonic() + ahead()));
      return latest;
    },
    correct: ({ askedAt, answeredAt, databaseMs }) => {
      const read = { low: databaseMs - answeredAt, high: databaseMs - askedAt };
      const drift = Math.max(0, answeredAt - knownAt) * DRIFT;
      const known = { low: low - drift, high: high + drift };
      const apart = Math.max(read.low - known.high, known.low - read.high);
      knownAt = answeredAt;
      if (apart <= 0) {
        low = Math.max(read.low, known.low);
        high = Math.min(read.high, known.high);
        return 0;
      }
      const before = ahead();
      ({ low, high } = read);
      if (apart < STEP_MS) return 0;
      latest = Number.NEGATIVE_INFINITY;
      return ahead() - before;
    },
  };
}
