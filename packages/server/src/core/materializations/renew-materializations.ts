import { decodeId, encodeId, type RenewMaterializations, type Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { renewLeases, type RenewedLease } from "./materialization-writes.ts";

export type MaterializationRenewal = {
  expiresAt: number;
  /** As the worker wrote them. */
  renewed: string[];
  lost: string[];
  stopping: RenewedLease[];
};

/**
 * Renews all that a worker has of workspaces, and tells it what is lost and what is to stop. Not flushed: after a crash of
 * PostgreSQL a lease merely ends earlier.
 */
export async function renewMaterializations(
  context: { db: Database; clock: Clock; leaseDurationMs: number },
  workerId: Uuid<"wkr">,
  request: RenewMaterializations["materializations"],
): Promise<MaterializationRenewal> {
  const now = context.clock();
  const expiresAt = now + context.leaseDurationMs;
  const known = request.flatMap((item) => {
    const environmentId = decodeId("env", item.environment_id);
    const id = decodeId("mat", item.materialization_id);
    if (environmentId === null || id === null) return [];
    return [{ environmentId, id, epoch: item.epoch, dirty: item.dirty, busy: item.busy }];
  });
  const held = await context.db.transaction((tx) => renewLeases(tx, workerId, known, now, expiresAt), {
    durability: "relaxed",
  });
  const renewed = new Set(held.map(({ id }) => encodeId("mat", id)));
  return {
    expiresAt,
    renewed: [...renewed],
    lost: request.map((item) => item.materialization_id).filter((id) => !renewed.has(id)),
    stopping: held.filter(({ status }) => status === "stopping"),
  };
}
