import type { Clock } from "../clock.ts";
import { wakeSettled } from "../core/executions/settle-changes.ts";
import type { Wakes } from "../core/feeds/wakes.ts";
import { purgePublicAccess } from "../core/public-access/purge-public-access.ts";
import { expireTokens } from "../core/tokens/expire-tokens.ts";
import { hasOverdueTokens } from "../core/tokens/token-reads.ts";
import type { Database } from "../db/pool.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type TokenLoopContext = { db: Database; clock: Clock; wakes: Wakes };

const PURGE_INTERVAL_MS = 60_000;

/**
 * Expires tokens whose time has run out (a late completion is refused at once), and drops public access tokens that are
 * good for nothing any more. Every replica runs it; rows are taken with SKIP LOCKED.
 */
export const tokenLoops = ({ db, clock, wakes }: TokenLoopContext): LoopWork[] => [
  {
    name: "expire-tokens",
    intervalMs: SAFEGUARD_MS,
    due: hasOverdueTokens,
    run: async () => {
      let round;
      do {
        round = await db.transaction((tx) => expireTokens(tx, clock()));
        for (const each of round.settled) wakeSettled(wakes, each);
        // What is left is in other hands.
      } while (round.more);
    },
  },
  {
    name: "purge-public-access",
    intervalMs: PURGE_INTERVAL_MS,
    run: () => purgePublicAccess(db, clock()),
  },
];
