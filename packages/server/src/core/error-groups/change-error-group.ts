import type { ErrorGroupStatus, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { lockErrorGroup } from "./error-group-reads.ts";
import { writeErrorGroupStatus } from "./error-group-writes.ts";

/**
 * A person says what a group is from now on: any status may follow any other.
 *
 * @returns whether that changed it
 * @throws DomainError `not_found`
 */
export async function changeErrorGroup(
  tx: Tx,
  environmentId: Uuid<"env">,
  errorGroupId: Uuid<"err">,
  status: ErrorGroupStatus,
  now: number,
): Promise<boolean> {
  const group = await lockErrorGroup(tx, environmentId, errorGroupId);
  if (group === null) throw notFound();
  if (group.status === status) return false;
  await writeErrorGroupStatus(tx, environmentId, errorGroupId, status, status === "resolved" ? now : null);
  return true;
}
