import type { Clock } from "../clock.ts";
import { purgeExpiredKeys } from "../core/idempotency/purge-expired-keys.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

/** Keeps the table of idempotency keys as large as what is still promised. */
export const idempotencyLoops = ({ db, clock }: { db: Database; clock: Clock }): LoopWork[] => [
  {
    name: "purge-idempotency-keys",
    intervalMs: 60_000,
    needs: "settled-time",
    run: () => purgeExpiredKeys(db, clock()),
  },
];
