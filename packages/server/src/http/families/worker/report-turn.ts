import type { Uuid } from "@keelson/contract";
import type { FairTurns } from "../../edge/fair-turns.ts";

/** In shares of a small request. */
const OPERATION_COST = 0.25;
/** Bytes of logs and records that cost as much. */
const COST_BYTES = 8_192;

/**
 * Counts what a report had done to the environments of its runs. One that is of a single environment is answered when that
 * has its turn: its worker sends the next one later, and code that writes more than it may comes to wait for its output.
 * What it reports is in the database by then, and leases are renewed by calls of their own, so no lease is nearer to its
 * end. One that is of several environments is answered at once: none of them is to wait for another.
 *
 * @returns what to wait for with the answer; undefined when there is nothing.
 */
export function takeReportTurn(
  turns: FairTurns,
  operations: readonly { environmentId: Uuid<"env"> }[],
  storedBytes: ReadonlyMap<Uuid<"env">, number>,
): Promise<void> | undefined {
  const costs = new Map<Uuid<"env">, number>();
  for (const { environmentId } of operations)
    costs.set(environmentId, (costs.get(environmentId) ?? 0) + OPERATION_COST);
  for (const [environmentId, bytes] of storedBytes)
    costs.set(environmentId, (costs.get(environmentId) ?? 0) + bytes / COST_BYTES);
  const [only] = costs;
  // Before the environment's callers: other environments' runs may wait for this worker's next report.
  if (costs.size === 1 && only !== undefined) return turns.enter(...only, true);
  for (const [environmentId, cost] of costs) turns.charge(environmentId, cost);
  return undefined;
}
