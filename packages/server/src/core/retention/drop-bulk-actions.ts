import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { deleteBulkAction, deleteBulkItems } from "./bulk-retention-writes.ts";

/** Items of one transaction. */
const PIECE_ITEMS = 5_000;

/**
 * Drops bulk actions, whose items go first and a piece at a time: there may be a row for every run of an environment.
 *
 * @returns how many of the actions are gone; the others are for the next transaction.
 */
export async function dropBulkActions(
  tx: Tx,
  environmentId: Uuid<"env">,
  ids: readonly Uuid<"bulk">[],
): Promise<number> {
  let left = PIECE_ITEMS;
  let gone = 0;
  for (const id of ids) {
    const dropped = await deleteBulkItems(tx, environmentId, id, left);
    left -= dropped;
    if (left === 0) return gone;
    await deleteBulkAction(tx, environmentId, id);
    gone += 1;
  }
  return gone;
}
