import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** Drains of a group's workers follow each other. False when there is no such group. */
export async function lockWorkerGroup(tx: Tx, workerGroupId: Uuid<"wgrp">): Promise<boolean> {
  const rows = await tx.query(
    sql`SELECT id FROM worker_groups WHERE id = ${workerGroupId} FOR NO KEY UPDATE`,
  );
  return rows.length > 0;
}

/** The workers of a group that get work and were heard since, by how little they hold; among equals the newest first. */
export async function listIdleFirst(
  tx: Tx,
  workerGroupId: Uuid<"wgrp">,
  heardSince: number,
  limit: number,
): Promise<Uuid<"wkr">[]> {
  const rows = await tx.query<{ id: Uuid<"wkr"> }>(sql`
    SELECT w.id FROM workers w
    WHERE w.worker_group_id = ${workerGroupId} AND w.status IN ('registered', 'active')
      AND w.last_seen_at >= ${timestamp(heardSince)}
    ORDER BY (SELECT count(*) FROM executions e WHERE e.worker_id = w.id)
      + (SELECT count(*) FROM materializations m WHERE m.worker_id = w.id AND m.status IN ('preparing', 'live', 'stopping')),
      w.id DESC
    LIMIT ${limit}`);
  return rows.map(({ id }) => id);
}
