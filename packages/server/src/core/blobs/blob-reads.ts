import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** The environment that a worker of the group may store and read blobs of; null when the group does not serve it. */
export async function groupServes(
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  environmentId: Uuid<"env">,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM environments WHERE id = ${environmentId} AND worker_group_id = ${workerGroupId}`);
  return rows.length === 1;
}

export async function findBlob(
  db: Queryable,
  environmentId: Uuid<"env">,
  digest: Buffer,
): Promise<{ sizeBytes: number } | null> {
  const [row] = await db.query<{ sizeBytes: number }>(sql`
    SELECT size_bytes FROM blobs
    WHERE environment_id = ${environmentId} AND digest = ${digest} AND size_bytes IS NOT NULL AND removing_since IS NULL`);
  return row ?? null;
}
