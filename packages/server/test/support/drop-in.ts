import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import type { RetentionPolicy } from "../../src/core/retention/retention.ts";
import { countEnded } from "./count-runs.ts";
import { NEVER_DROPPED } from "./never-dropped.ts";
import type { RunScene } from "./run-scene.ts";

const DAY_MS = 86_400_000;

export type Drops = {
  /** Drops as it will be dropped in so many days. What the policy does not name is kept. */
  dropIn(days: number, policy?: Partial<RetentionPolicy>): Promise<void>;
  /** How many of each kind so far. */
  dropped: Record<string, number>;
  /** When rounds began that went through everything. */
  swept: number[];
};

export function openDrops({ server, clock }: RunScene): Drops {
  const dropped: Record<string, number> = {};
  const swept: number[] = [];
  return {
    dropped,
    swept,
    dropIn: async (days, policy = {}) => {
      await countEnded(server.db, clock.now);
      await dropEnded({
        db: server.db,
        clock: () => clock.now() + days * DAY_MS,
        retention: { ...NEVER_DROPPED, ...policy },
        countDropped: (kind, count) => void (dropped[kind] = (dropped[kind] ?? 0) + count),
        noteSwept: (begunAt) => void swept.push(begunAt),
        noteLoopFailure: () => undefined,
      });
    },
  };
}
