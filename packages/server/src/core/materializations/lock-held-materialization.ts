import { decodeId, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { leaseLost } from "../workspaces/lease-lost.ts";
import { lockWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import type { MaterializationDecision } from "./materialization.ts";
import { findMaterialization, type MaterializationRow } from "./materialization-reads.ts";

/** What a worker's call about a materialization carries. */
export type HeldFields = { environment_id: string; materialization_id: string; epoch: number };

/** What the fields name; null when they cannot be ids. */
export function heldKeyOf(
  fields: HeldFields,
): { environmentId: Uuid<"env">; materializationId: Uuid<"mat">; epoch: number } | null {
  const environmentId = decodeId("env", fields.environment_id);
  const materializationId = decodeId("mat", fields.materialization_id);
  return environmentId === null || materializationId === null
    ? null
    : { environmentId, materializationId, epoch: fields.epoch };
}

/**
 * Locks a materialization for a call of the worker that has it. Only the equality of the epoch under the lock makes the
 * call valid: a late one is as good as a punctual one until somebody else has taken over.
 *
 * @throws DomainError `lease_lost`.
 */
export async function lockHeldMaterialization(
  tx: Tx,
  workerId: Uuid<"wkr">,
  fields: HeldFields,
): Promise<{ materialization: MaterializationRow; workspace: WorkspaceRow }> {
  const key = heldKeyOf(fields);
  if (key === null) throw leaseLost();
  const { environmentId, materializationId: id, epoch } = key;
  // The workspace's lock is that of its materializations; which workspace it is never changes.
  const seen = await findMaterialization(tx, environmentId, id);
  if (seen === null) throw leaseLost();
  const workspace = await lockWorkspace(tx, environmentId, seen.workspaceId);
  const materialization = await findMaterialization(tx, environmentId, id);
  if (workspace === null || materialization === null) throw leaseLost();
  if (materialization.epoch !== epoch || materialization.workerId !== workerId) throw leaseLost();
  return { materialization, workspace };
}

/** @throws DomainError `lease_lost` for a refusal: its materialization is over for the worker. */
export function requireHeld(
  decision: MaterializationDecision,
): Exclude<MaterializationDecision, { kind: "refuse" }> {
  if (decision.kind === "refuse") throw new DomainError("lease_lost", decision.message);
  return decision;
}
