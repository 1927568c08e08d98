import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** Drops items of a bulk action, a piece at a time. @returns how many. */
export async function deleteBulkItems(
  tx: Tx,
  environmentId: Uuid<"env">,
  id: Uuid<"bulk">,
  limit: number,
): Promise<number> {
  const [row] = await tx.query<{ dropped: number }>(sql`
    WITH gone AS (
      -- By an array: of a table without statistics, the planner joins each item with each of the piece.
      DELETE FROM bulk_action_items
      WHERE environment_id = ${environmentId} AND bulk_action_id = ${id} AND run_id = ANY(ARRAY(
        SELECT run_id FROM bulk_action_items
        WHERE environment_id = ${environmentId} AND bulk_action_id = ${id} ORDER BY run_id LIMIT ${limit}))
      RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`);
  return row?.dropped ?? 0;
}

/** Drops an ended bulk action without items. */
export async function deleteBulkAction(tx: Tx, environmentId: Uuid<"env">, id: Uuid<"bulk">): Promise<void> {
  await tx.query(sql`
    DELETE FROM bulk_actions WHERE environment_id = ${environmentId} AND id = ${id} AND ended_at IS NOT NULL`);
}
