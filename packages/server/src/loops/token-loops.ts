import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { purgePublicAccess } from "../core/public-access/purge-public-access.ts";
import { expireTokens } from "../core/tokens/expire-tokens.ts";
import { hasOverdueTokens } from "../core/tokens/token-reads.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

const PURGE_INTERVAL_MS = 60_000;

/**
 * Expires tokens whose time has run out (a late completion is refused at once), and drops public access tokens that are
 * good for nothing any more. Every replica runs it; rows are taken with SKIP LOCKED.
 */
export const tokenLoops = (context: ItemContext): LoopWork[] => [
  {
    name: "expire-tokens",
    intervalMs: SAFEGUARD_MS,
    due: hasOverdueTokens,
    run: () => expireTokens(context),
  },
  {
    name: "purge-public-access",
    intervalMs: PURGE_INTERVAL_MS,
    needs: "settled-time",
    run: () => purgePublicAccess(context.db, context.clock()),
  },
];
