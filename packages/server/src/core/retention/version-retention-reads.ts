import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type VersionAge = { createdBefore: number; newest: number };

/**
 * Of a version `v` of the workspace `w`: nothing needs it. What is current, what a machine has begun from, what is among
 * the newest, and what a fork or the setup of a sandbox refers to is never so.
 */
export const isDroppable = ({ createdBefore, newest }: VersionAge): Sql =>
  joinSql(
    [
      sql`v.created_at < ${timestamp(createdBefore)} AND v.number <= w.version_count - ${newest}::integer`,
      rawSql(`w.status = 'active' AND v.id <> w.current_version_id`),
      rawSql(`NOT EXISTS (SELECT 1 FROM materializations m WHERE m.environment_id = w.environment_id
        AND m.id = w.materialization_id AND m.base_version_id = v.id)`),
      rawSql(
        `NOT EXISTS (SELECT 1 FROM sandbox_bases b WHERE b.environment_id = v.environment_id AND b.version_id = v.id)`,
      ),
      rawSql(`NOT EXISTS (SELECT 1 FROM workspace_versions f WHERE f.environment_id = v.environment_id
        AND f.parent_version_id = v.id AND f.number = 1)`),
    ],
    " AND ",
  );

/** Workspaces of the versions that were made before the horizon, with whether one of them may go; and the last key seen. */
export async function listAgedWorkspaces(
  db: Queryable,
  environmentId: Uuid<"env">,
  after: string,
  horizon: string,
  age: VersionAge,
  limit: number,
): Promise<{ workspaceIds: Uuid<"ws">[]; last: string | null }> {
  const rows = await db.query<{ id: Uuid<"wsv">; workspaceId: Uuid<"ws">; isDroppable: boolean }>(sql`
    SELECT v.id, v.workspace_id, ${isDroppable(age)} AS is_droppable
    FROM (
      SELECT * FROM workspace_versions
      WHERE environment_id = ${environmentId} AND id > ${after} AND id < ${horizon} ORDER BY id LIMIT ${limit}
    ) v
    JOIN workspaces w ON w.environment_id = ${environmentId} AND w.id = v.workspace_id
    ORDER BY v.id`);
  const due = rows.filter((row) => row.isDroppable).map(({ workspaceId }) => workspaceId);
  return { workspaceIds: [...new Set(due)], last: rows.at(-1)?.id ?? null };
}

export type AgedVersion = {
  id: Uuid<"wsv">;
  manifestDigest: Buffer;
  isDroppable: boolean;
  versionCount: number;
};

/** All versions of a workspace. */
export const listAgedVersions = (
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  age: VersionAge,
): Promise<AgedVersion[]> =>
  db.query<AgedVersion>(sql`
    SELECT v.id, v.manifest_digest, w.version_count, ${isDroppable(age)} AS is_droppable
    FROM workspace_versions v
    JOIN workspaces w ON w.environment_id = ${environmentId} AND w.id = v.workspace_id
    WHERE v.environment_id = ${environmentId} AND v.workspace_id = ${workspaceId}
    ORDER BY v.number`);

/** Waits for those who are about to refer to them; a statement after this one sees what they refer to. */
export async function lockVersions(
  tx: Tx,
  environmentId: Uuid<"env">,
  versionIds: readonly Uuid<"wsv">[],
): Promise<void> {
  await tx.query(sql`
    SELECT 1 AS locked FROM workspace_versions
    WHERE environment_id = ${environmentId} AND id = ANY(${versionIds}::uuid[]) ORDER BY id FOR UPDATE`);
}

export async function findVersionCount(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<number | null> {
  const [row] = await tx.query<{ count: number }>(sql`
    SELECT version_count AS count FROM workspaces WHERE environment_id = ${environmentId} AND id = ${workspaceId}`);
  return row?.count ?? null;
}
