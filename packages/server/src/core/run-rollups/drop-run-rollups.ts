import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { deleteGauges } from "./run-gauge-writes.ts";
import { HOUR_MS, ROLLUP_MINUTES, ROLLUPS_KEPT_MS } from "./run-rollup.ts";
import { deleteRollups } from "./run-rollup-writes.ts";

/** Drops rows that are older than rows of their kind are kept: an hour later than they are still written. @returns how many. */
export async function dropRunRollups(
  tx: Tx,
  environmentId: Uuid<"env">,
  now: number,
  limit: number,
): Promise<number> {
  let dropped = 0;
  for (const minutes of ROLLUP_MINUTES) {
    const old = { minutes, before: now - ROLLUPS_KEPT_MS[minutes] - HOUR_MS, limit };
    dropped += await deleteRollups(tx, environmentId, old);
    dropped += await deleteGauges(tx, environmentId, old);
  }
  return dropped;
}
