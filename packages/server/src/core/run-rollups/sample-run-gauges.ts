import type { Tx } from "../../db/queryable.ts";
import { claimSample, sampleGauges } from "./run-gauge-writes.ts";

/** Stores how all environments are now, unless another server has just done so. */
export async function sampleRunGauges(tx: Tx, now: number, leastMs: number): Promise<void> {
  if (await claimSample(tx, now, leastMs)) await sampleGauges(tx, now);
}
