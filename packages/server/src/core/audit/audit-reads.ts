import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { joinSql, rawSql, sql } from "../../db/sql.ts";
import type { AuditPlace, AuditRow } from "./audit.ts";

const COLUMNS = rawSql(
  `sequence, id, action, actor_id, resource_id, content, encode(digest, 'hex') AS digest`,
);

/** Null leaves a condition out. */
export type AuditFilter = { action: string | null; actorId: string | null; resourceId: string | null };

/** Newest first, before the sequence number `before`. Only conditions that are there are written: each has its index. */
export function listAuditEvents(
  db: Queryable,
  chainId: string,
  filter: AuditFilter,
  before: number | null,
  limit: number,
): Promise<AuditRow[]> {
  const conditions = [sql`chain_id = ${chainId}`];
  if (before !== null) conditions.push(sql`sequence < ${before}::bigint`);
  if (filter.action !== null) conditions.push(sql`action = ${filter.action}`);
  if (filter.actorId !== null) conditions.push(sql`actor_id = ${filter.actorId}`);
  if (filter.resourceId !== null) conditions.push(sql`resource_id = ${filter.resourceId}`);
  return db.query<AuditRow>(sql`
    SELECT ${COLUMNS} FROM audit_events WHERE ${joinSql(conditions, " AND ")} ORDER BY sequence DESC LIMIT ${limit}`);
}

/** Oldest first, after the sequence number. */
export function listAuditEventsAfter(
  db: Queryable,
  chainId: string,
  after: number,
  limit: number,
): Promise<AuditRow[]> {
  return db.query<AuditRow>(sql`
    SELECT ${COLUMNS} FROM audit_events WHERE chain_id = ${chainId} AND sequence > ${after} ORDER BY sequence LIMIT ${limit}`);
}

/** Of any chain: administrators see all of them. */
export async function findAuditEvent(db: Queryable, id: Uuid<"aud">): Promise<AuditRow | null> {
  const [row] = await db.query<AuditRow>(sql`SELECT ${COLUMNS} FROM audit_events WHERE id = ${id}`);
  return row ?? null;
}

/** Of one chain alone. */
export async function findChainEvent(
  db: Queryable,
  chainId: string,
  id: Uuid<"aud">,
): Promise<AuditRow | null> {
  const [row] = await db.query<AuditRow>(
    sql`SELECT ${COLUMNS} FROM audit_events WHERE chain_id = ${chainId} AND id = ${id}`,
  );
  return row ?? null;
}

export async function findChainHead(db: Queryable, chainId: string): Promise<AuditPlace | null> {
  const [row] = await db.query<AuditPlace>(sql`
    SELECT sequence, encode(digest, 'hex') AS digest FROM audit_chains WHERE chain_id = ${chainId}`);
  return row ?? null;
}
