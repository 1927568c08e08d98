import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import { isMaterializationDue, isProcessDue } from "./workspace-retention-reads.ts";

type Count = { dropped: number };

const countOf = ([row]: Count[]): number => row?.dropped ?? 0;

/** Drops those of the processes that are due, with what was sent to them and what they said. @returns how many. */
export async function deleteEndedProcesses(
  tx: Tx,
  environmentId: Uuid<"env">,
  processIds: readonly Uuid<"exec" | "pty">[],
  endedBefore: number,
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM processes p
      WHERE p.environment_id = ${environmentId} AND p.id = ANY(${processIds}::uuid[]) AND ${isProcessDue(endedBefore)}
      RETURNING p.id
    ), inputs AS (
      DELETE FROM process_inputs i USING gone g WHERE i.environment_id = ${environmentId} AND i.process_id = g.id
    ), controls AS (
      DELETE FROM process_controls c USING gone g WHERE c.environment_id = ${environmentId} AND c.process_id = g.id
    ), outputs AS (
      DELETE FROM process_outputs o USING gone g WHERE o.environment_id = ${environmentId} AND o.process_id = g.id
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/** Drops those of the materializations that are due. @returns how many. */
export async function deleteEndedMaterializations(
  tx: Tx,
  environmentId: Uuid<"env">,
  materializationIds: readonly Uuid<"mat">[],
  endedBefore: number,
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM materializations m
      WHERE m.environment_id = ${environmentId} AND m.id = ANY(${materializationIds}::uuid[])
        AND ${isMaterializationDue(endedBefore)}
      RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/** Of a workspace `w`: no live run and no open session names it. */
const isUnnamed = rawSql(`
  NOT EXISTS (SELECT 1 FROM executions e WHERE e.environment_id = w.environment_id AND e.workspace_id = w.id)
  AND NOT EXISTS (
    SELECT 1 FROM sessions s WHERE s.environment_id = w.environment_id AND s.workspace_id = w.id AND s.status = 'open')`);

/**
 * Workspaces that were deleted before, the first ones first; those in other hands wait for the next round. A live run or an
 * open session that names one keeps it: a run whose task declares a sandbox would be given a new one under the old id.
 */
export async function lockDeletedWorkspaces(
  tx: Tx,
  environmentId: Uuid<"env">,
  { deletedBefore, now, limit }: { deletedBefore: number; now: number; limit: number },
): Promise<Uuid<"ws">[]> {
  // A server of the release before says of a deletion only when the row last changed.
  const rows = await tx.query<{ id: Uuid<"ws"> }>(sql`
    WITH page AS (
      (SELECT w.id FROM workspaces w
      WHERE w.environment_id = ${environmentId} AND w.status = 'deleted' AND w.deleted_at < ${timestamp(deletedBefore)}
        AND ${isUnnamed} AND ${isNotSetAside("drop-deleted_workspaces", sql`w.environment_id`, sql`w.id`, now)}
      ORDER BY w.deleted_at LIMIT ${limit})
      UNION ALL
      (SELECT w.id FROM workspaces w
      WHERE w.environment_id = ${environmentId} AND w.status = 'deleted' AND w.deleted_at IS NULL
        AND w.updated_at < ${timestamp(deletedBefore)}
        AND ${isUnnamed} AND ${isNotSetAside("drop-deleted_workspaces", sql`w.environment_id`, sql`w.id`, now)}
      LIMIT ${limit})
    )
    SELECT w.id FROM workspaces w
    WHERE w.environment_id = ${environmentId} AND w.id IN (SELECT id FROM page) LIMIT ${limit} FOR UPDATE OF w SKIP LOCKED`);
  return rows.map(({ id }) => id);
}

/** Drops materializations of locked workspaces that are deleted, a piece at a time. @returns how many. */
export async function deleteMaterializationsOf(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceIds: readonly Uuid<"ws">[],
  limit: number,
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH due AS (
      SELECT id FROM materializations
      WHERE environment_id = ${environmentId} AND workspace_id = ANY(${workspaceIds}::uuid[]) LIMIT ${limit}
    ), gone AS (
      DELETE FROM materializations m USING due d WHERE m.environment_id = ${environmentId} AND m.id = d.id
      RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}

/** Drops locked workspaces that are deleted, and on which nothing hangs any more. @returns how many. */
export async function deleteDeletedWorkspaces(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceIds: readonly Uuid<"ws">[],
): Promise<number> {
  return countOf(
    await tx.query<Count>(sql`
    WITH gone AS (
      DELETE FROM workspaces
      WHERE environment_id = ${environmentId} AND id = ANY(${workspaceIds}::uuid[]) AND status = 'deleted'
      RETURNING id, tags
    ), untagged AS (
      DELETE FROM workspace_tags t USING (SELECT id, unnest(tags) AS tag FROM gone) g
      WHERE t.environment_id = ${environmentId} AND t.tag = g.tag AND t.workspace_id = g.id
    )
    SELECT count(*) AS dropped FROM gone`),
  );
}
