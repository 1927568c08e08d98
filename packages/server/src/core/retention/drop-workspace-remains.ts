import type { Uuid } from "@keelson/contract";
import { DELETED_WORKSPACES_MS, type RetentionPolicy } from "./retention.ts";
import { dropInBatches, PAGE, sweepKeys, type Drop, type SweepContext } from "./sweep-keys.ts";
import { listEndedMaterializations, listEndedProcesses } from "./workspace-retention-reads.ts";
import {
  deleteDeletedWorkspaces,
  deleteEndedMaterializations,
  deleteEndedProcesses,
  deleteMaterializationsOf,
  lockDeletedWorkspaces,
} from "./workspace-retention-writes.ts";

type RemainsContext = SweepContext & { retention: RetentionPolicy };

/** Materializations of one transaction. */
const PIECE_MATERIALIZATIONS = 5_000;

/** Drops what is left of commands, terminals and machines of workspaces, and of workspaces that were deleted. */
export async function dropWorkspaceRemains(
  context: RemainsContext,
  environmentId: Uuid<"env">,
): Promise<void> {
  const keptMs = context.retention.processesMs;
  if (keptMs !== null) {
    const endedBefore = context.clock() - keptMs;
    const dropProcesses: Drop<"exec" | "pty"> = (tx, _, ids) =>
      deleteEndedProcesses(tx, environmentId, ids, endedBefore);
    const dropMaterializations: Drop<"mat"> = (tx, _, ids) =>
      deleteEndedMaterializations(tx, environmentId, ids, endedBefore);
    const work = { environmentId, keptMs };
    await sweepKeys(context, {
      ...work,
      ...{ kind: "processes", list: listEndedProcesses, drop: dropProcesses },
    });
    await sweepKeys(context, {
      ...work,
      ...{ kind: "materializations", list: listEndedMaterializations, drop: dropMaterializations },
    });
  }
  await dropDeletedWorkspaces(context, environmentId);
}

/** A workspace whose materializations are not all gone is looked at again. */
function dropDeletedWorkspaces(context: RemainsContext, environmentId: Uuid<"env">): Promise<void> {
  const deletedBefore = context.clock() - DELETED_WORKSPACES_MS;
  return dropInBatches<Uuid<"ws">>(context, {
    kind: "deleted_workspaces",
    limit: PAGE,
    itemOf: (itemId) => ({ environmentId, itemId }),
    take: async (tx, limit, now) => {
      const rows = await lockDeletedWorkspaces(tx, environmentId, { deletedBefore, now, limit });
      return { rows, more: rows.length > 0 };
    },
    drop: async (tx, ids) => {
      const pieces = await deleteMaterializationsOf(tx, environmentId, ids, PIECE_MATERIALIZATIONS);
      return pieces === PIECE_MATERIALIZATIONS ? 0 : deleteDeletedWorkspaces(tx, environmentId, ids);
    },
  });
}
