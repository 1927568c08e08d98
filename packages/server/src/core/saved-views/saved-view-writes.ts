import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { SavedViewRow, ViewOwner } from "./saved-view-reads.ts";

export async function insertSavedView(
  tx: Tx,
  { environmentId, userId }: ViewOwner,
  view: SavedViewRow,
): Promise<void> {
  await tx.query(sql`
    INSERT INTO saved_views (environment_id, user_id, id, name, filter, columns, created_at, updated_at)
    VALUES (${environmentId}, ${userId}, ${view.id}, ${view.name}, ${view.filter}, ${view.columns}::text[],
      ${timestamp(view.createdAt)}, ${timestamp(view.updatedAt)})`);
}

export async function updateSavedView(
  tx: Tx,
  { environmentId, userId }: ViewOwner,
  view: SavedViewRow,
): Promise<void> {
  await tx.query(sql`
    UPDATE saved_views SET name = ${view.name}, filter = ${view.filter}, columns = ${view.columns}::text[],
      updated_at = ${timestamp(view.updatedAt)}
    WHERE environment_id = ${environmentId} AND user_id = ${userId} AND id = ${view.id}`);
}

/** False when there is none. */
export async function deleteSavedView(
  tx: Tx,
  { environmentId, userId }: ViewOwner,
  id: Uuid<"view">,
): Promise<boolean> {
  const rows = await tx.query(sql`
    DELETE FROM saved_views WHERE environment_id = ${environmentId} AND user_id = ${userId} AND id = ${id} RETURNING id`);
  return rows.length > 0;
}
