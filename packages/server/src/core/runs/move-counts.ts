import type { Queryable } from "../../db/queryable.ts";
import { takeOldShards } from "../count-shards.ts";
import { foldCounts } from "./run-writes.ts";

/** Counts of runs go to the usual rows again, and what other rows have is added to those. */
export async function moveCountsBack(db: Queryable): Promise<void> {
  takeOldShards();
  await foldCounts(db);
}
