import type { Tx } from "../../db/queryable.ts";
import { joinUsage, type RunUsage } from "./usage.ts";
import { addUsage } from "./usage-writes.ts";

/** What locked, live runs say that they used. */
export async function recordUsage(tx: Tx, used: readonly RunUsage[]): Promise<void> {
  if (used.length > 0) await addUsage(tx, joinUsage(used));
}
