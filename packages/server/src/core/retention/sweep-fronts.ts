import type { Uuid } from "@keelson/contract";
import { FIRST_KEY } from "./retention.ts";

/** How often a sweep looks at everything again: more often when nothing is kept for as long. */
const LONGEST_MS = 24 * 3_600_000;

/** Where the sweeps of environments begin. */
export type SweepFronts = {
  /** After which key this one begins, of what is kept for so long. */
  begin: (environmentId: Uuid<"env">, now: number, keptMs: number) => string;
  /** Up to this key the sweep has left nothing but what something else holds. */
  move: (environmentId: Uuid<"env">, front: string) => void;
};

/**
 * Of most keys that a sweep leaves, something else says how long they stay: runs of a session stay as long as it does. A sweep
 * begins where the one before found the first key that is not so, and once a day at the first key of all, for what was let go
 * since. It is this server's memory: a server that was just started looks at everything.
 */
export function createSweepFronts(): SweepFronts {
  const fronts = new Map<Uuid<"env">, { front: string; wholeAt: number }>();
  return {
    begin: (environmentId, now, keptMs) => {
      const wholeMs = Math.min(LONGEST_MS, keptMs);
      const known = fronts.get(environmentId);
      // The clock may have been set back.
      if (known !== undefined && now >= known.wholeAt && now < known.wholeAt + wholeMs) return known.front;
      fronts.set(environmentId, { front: FIRST_KEY, wholeAt: now });
      return FIRST_KEY;
    },
    move: (environmentId, front) => {
      const known = fronts.get(environmentId);
      if (known !== undefined) known.front = front;
    },
  };
}
