import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export async function findBundle(
  db: Queryable,
  environmentId: Uuid<"env">,
  digest: Buffer,
): Promise<{ sizeBytes: number } | null> {
  const [row] = await db.query<{ sizeBytes: number }>(sql`
    SELECT size_bytes FROM bundles WHERE environment_id = ${environmentId} AND digest = ${digest}`);
  return row ?? null;
}

/** Whether a worker of the group may have the bundle: an environment that the group serves has uploaded it. */
export async function groupHasBundle(
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  digest: Buffer,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM bundles b JOIN environments v ON v.id = b.environment_id
    WHERE b.digest = ${digest} AND v.worker_group_id = ${workerGroupId} LIMIT 1`);
  return rows.length === 1;
}
