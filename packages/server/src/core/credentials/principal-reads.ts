import type { Role } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { Principal } from "./principal.ts";

/** A principal and until when its credential is good; null for ever. Revoked credentials are not found. */
export type FoundPrincipal = { principal: Principal; expiresAt: number | null };

export async function findApiKey(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{
    id: string;
    organizationId: string;
    projectId: string;
    environmentId: string;
    workerGroupId: string;
    permissions: string[];
    expiresAt: number | null;
  }>(sql`
    SELECT k.id, p.organization_id AS "organizationId", p.id AS "projectId", v.id AS "environmentId",
      v.worker_group_id AS "workerGroupId", k.permissions, k.expires_at AS "expiresAt"
    FROM api_keys k
    JOIN environments v ON v.id = k.environment_id
    JOIN projects p ON p.id = v.project_id
    WHERE k.digest = ${digest} AND k.revoked_at IS NULL`);
  if (row === undefined) return null;
  const { expiresAt, permissions, ...rest } = row;
  return { principal: { kind: "api_key", ...rest, permissions: new Set(permissions) }, expiresAt };
}

export async function findUserSession(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{ id: string; isAdmin: boolean; expiresAt: number }>(sql`
    SELECT u.id, u.is_admin AS "isAdmin", s.expires_at AS "expiresAt"
    FROM user_sessions s JOIN users u ON u.id = s.user_id
    WHERE s.digest = ${digest} AND s.revoked_at IS NULL`);
  return row === undefined
    ? null
    : { principal: { kind: "user", id: row.id, isAdmin: row.isAdmin }, expiresAt: row.expiresAt };
}

export async function findWorkerToken(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{ workerId: string; workerGroupId: string; expiresAt: number }>(sql`
    SELECT w.id AS "workerId", w.worker_group_id AS "workerGroupId", t.expires_at AS "expiresAt"
    FROM worker_tokens t JOIN workers w ON w.id = t.worker_id
    WHERE t.digest = ${digest} AND t.revoked_at IS NULL`);
  if (row === undefined) return null;
  return {
    principal: { kind: "worker", workerId: row.workerId, workerGroupId: row.workerGroupId },
    expiresAt: row.expiresAt,
  };
}

export async function findServiceKey(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{ id: string; kind: "admin" | "capacity"; expiresAt: number | null }>(sql`
    SELECT id, kind, expires_at AS "expiresAt" FROM service_keys WHERE digest = ${digest} AND revoked_at IS NULL`);
  return row === undefined ? null : { principal: { kind: row.kind, id: row.id }, expiresAt: row.expiresAt };
}

export type UserEnvironment = {
  organizationId: string;
  projectId: string;
  environmentId: string;
  workerGroupId: string;
  role: Role;
};

/** An environment that the user is a member for; null when it does not exist, or is not theirs. */
export async function findUserEnvironment(
  db: Queryable,
  userId: string,
  projectId: string,
  environmentId: string,
): Promise<UserEnvironment | null> {
  const [row] = await db.query<UserEnvironment>(sql`
    SELECT p.organization_id AS "organizationId", p.id AS "projectId", v.id AS "environmentId",
      v.worker_group_id AS "workerGroupId", m.role
    FROM members m
    JOIN projects p ON p.organization_id = m.organization_id
    JOIN environments v ON v.project_id = p.id
    WHERE m.user_id = ${userId} AND p.id = ${projectId} AND v.id = ${environmentId}`);
  return row ?? null;
}
