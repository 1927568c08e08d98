import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewOrganization = {
  id: Uuid<"org">;
  name: string;
  slug: string;
  workerGroupId: Uuid<"wgrp"> | null;
  now: number;
};

/** False when there is an organization of that slug. */
export async function insertOrganization(tx: Tx, organization: NewOrganization): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO organizations (id, name, slug, worker_group_id, created_at, updated_at)
    SELECT ${organization.id}::uuid, ${organization.name}::text, ${organization.slug}::text,
      ${organization.workerGroupId}::uuid, at, at
    FROM ${timestamp(organization.now)} AS at
    ON CONFLICT (slug) DO NOTHING RETURNING id`);
  return rows.length > 0;
}

/** Null leaves a value as it is. One who is suspended already keeps the time of it. */
export async function updateUser(
  tx: Tx,
  userId: Uuid<"user">,
  change: { isAdmin: boolean | null; suspended: boolean | null; now: number },
): Promise<void> {
  const { isAdmin, suspended, now } = change;
  await tx.query(sql`
    UPDATE users SET is_admin = coalesce(${isAdmin}::boolean, is_admin),
      suspended_at = CASE ${suspended}::boolean WHEN true THEN coalesce(suspended_at, ${timestamp(now)})
        WHEN false THEN NULL ELSE suspended_at END,
      updated_at = ${timestamp(now)}
    WHERE id = ${userId}`);
}
