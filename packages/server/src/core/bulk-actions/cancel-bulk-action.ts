import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { decideCancel } from "./bulk-action.ts";
import { lockBulkAction } from "./bulk-action-reads.ts";
import { markCancelled } from "./bulk-action-writes.ts";

/**
 * Stops a bulk action after the batch under way. What was done stays done. Repeating it changes nothing.
 *
 * @returns whether it was running.
 * @throws DomainError `not_found`, `invalid_state` for a completed one.
 */
export async function cancelBulkAction(
  tx: Tx,
  environmentId: Uuid<"env">,
  id: Uuid<"bulk">,
  now: number,
): Promise<boolean> {
  const action = await lockBulkAction(tx, environmentId, id);
  if (action === null) throw notFound();
  const decision = decideCancel(action.status);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: action.status });
  if (decision.kind === "none") return false;
  await markCancelled(tx, environmentId, id, now);
  return true;
}
