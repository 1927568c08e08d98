import type { Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

/** `filter` is JSON as text, times are milliseconds. */
export type SavedViewRow = {
  id: Uuid<"view">;
  name: string;
  filter: string;
  columns: string[] | null;
  createdAt: number;
  updatedAt: number;
};

/** Whose views, and of which environment. */
export type ViewOwner = { environmentId: Uuid<"env">; userId: Uuid<"user"> };

const COLUMNS = rawSql("id, name, filter, columns, created_at, updated_at");

/** Newest first. */
export const listSavedViews = (
  db: Queryable,
  { environmentId, userId }: ViewOwner,
  before: string | null,
  limit: number,
): Promise<SavedViewRow[]> =>
  db.query<SavedViewRow>(sql`
    SELECT ${COLUMNS} FROM saved_views
    WHERE environment_id = ${environmentId} AND user_id = ${userId} AND ${isBefore(sql`id`, before)}
    ORDER BY id DESC LIMIT ${limit}`);

export async function findSavedView(
  db: Queryable,
  { environmentId, userId }: ViewOwner,
  id: Uuid<"view">,
): Promise<SavedViewRow | null> {
  const [row] = await db.query<SavedViewRow>(sql`
    SELECT ${COLUMNS} FROM saved_views
    WHERE environment_id = ${environmentId} AND user_id = ${userId} AND id = ${id}`);
  return row ?? null;
}

export async function countSavedViews(db: Queryable, { environmentId, userId }: ViewOwner): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    SELECT count(*) AS count FROM saved_views WHERE environment_id = ${environmentId} AND user_id = ${userId}`);
  return row?.count ?? 0;
}

/** Views of one person are saved one after the other: their number is bounded. */
export async function lockViewOwner(db: Queryable, { userId }: ViewOwner): Promise<void> {
  await db.query(sql`SELECT id FROM users WHERE id = ${userId} FOR NO KEY UPDATE`);
}

/** Whether another view of the person has the name. */
export async function isViewNameTaken(
  db: Queryable,
  { environmentId, userId }: ViewOwner,
  name: string,
  id: Uuid<"view">,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT id FROM saved_views
    WHERE environment_id = ${environmentId} AND user_id = ${userId} AND name = ${name} AND id <> ${id}`);
  return rows.length > 0;
}
