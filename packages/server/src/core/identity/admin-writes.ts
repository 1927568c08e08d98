import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type NewOrganization = {
  id: string;
  name: string;
  slug: string;
  workerGroupId: string | null;
  now: number;
};

/** False when there is an organization of that slug. */
export async function insertOrganization(tx: Tx, organization: NewOrganization): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO organizations (id, name, slug, worker_group_id, created_at, updated_at)
    SELECT ${organization.id}::uuid, ${organization.name}::text, ${organization.slug}::text,
      ${organization.workerGroupId}::uuid, at, at
    FROM to_timestamp(${organization.now}::float8 / 1000) AS at
    ON CONFLICT (slug) DO NOTHING RETURNING id`);
  return rows.length > 0;
}

/** Null leaves a value as it is. One who is suspended already keeps the time of it. */
export async function updateUser(
  tx: Tx,
  userId: string,
  change: { isAdmin: boolean | null; suspended: boolean | null; now: number },
): Promise<void> {
  const { isAdmin, suspended, now } = change;
  await tx.query(sql`
    UPDATE users SET is_admin = coalesce(${isAdmin}::boolean, is_admin),
      suspended_at = CASE ${suspended}::boolean WHEN true THEN coalesce(suspended_at, to_timestamp(${now}::float8 / 1000))
        WHEN false THEN NULL ELSE suspended_at END,
      updated_at = to_timestamp(${now}::float8 / 1000)
    WHERE id = ${userId}`);
}
