import type { Role } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { PublicAccess } from "../public-access/public-access.ts";
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
  const [row] = await db.query<{ id: string; isAdmin: boolean; sessionId: string; expiresAt: number }>(sql`
    SELECT u.id, u.is_admin AS "isAdmin", s.id AS "sessionId", s.expires_at AS "expiresAt"
    FROM user_sessions s JOIN users u ON u.id = s.user_id
    WHERE s.digest = ${digest} AND s.revoked_at IS NULL AND u.suspended_at IS NULL`);
  if (row === undefined) return null;
  const { expiresAt, ...rest } = row;
  return { principal: { kind: "user", ...rest }, expiresAt };
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

/** Good for as long as its token is: a completion that comes too late is told so. */
export async function findCompletionToken(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{ id: string; environmentId: string }>(sql`
    SELECT id, environment_id AS "environmentId" FROM tokens WHERE public_digest = ${digest}`);
  return row === undefined ? null : { principal: { kind: "completion_token", ...row }, expiresAt: null };
}

/** What a token covers never changes; its uses are counted where they are used. */
export async function findPublicAccess(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<PublicAccess & { expiresAt: number }>(sql`
    SELECT id, environment_id AS "environmentId", permission, session_id AS "sessionId", stream_id AS "streamId",
      correlation_id AS "correlationId", max_uses AS "maxUses", expires_at AS "expiresAt"
    FROM public_access_tokens WHERE digest = ${digest}`);
  if (row === undefined) return null;
  const { expiresAt, ...access } = row;
  return { principal: { kind: "public_access", ...access }, expiresAt };
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

/** A project, or one of its environments, of which the user is a member. */
export type UserProject = {
  organizationId: string;
  projectId: string;
  /** Null where none was asked for. */
  environmentId: string | null;
  role: Role;
};

/** The project as its member sees it; null when it does not exist, or is not theirs, or has no such environment. */
export async function findUserProject(
  db: Queryable,
  userId: string,
  projectId: string,
  environmentId: string | null,
): Promise<UserProject | null> {
  const [row] = await db.query<UserProject>(sql`
    SELECT p.organization_id AS "organizationId", p.id AS "projectId", v.id AS "environmentId", m.role
    FROM members m
    JOIN projects p ON p.organization_id = m.organization_id
    LEFT JOIN environments v ON v.project_id = p.id AND v.id = ${environmentId}::uuid
    WHERE m.user_id = ${userId} AND p.id = ${projectId}
      AND (${environmentId}::uuid IS NULL OR v.id IS NOT NULL)`);
  return row ?? null;
}

/** The user's part in organizations: in the one asked for, else in the first few of all. */
export function findUserOrganizations(
  db: Queryable,
  userId: string,
  organizationId: string | null,
): Promise<{ organizationId: string; role: Role }[]> {
  return db.query<{ organizationId: string; role: Role }>(sql`
    SELECT organization_id AS "organizationId", role FROM members
    WHERE user_id = ${userId} AND (${organizationId}::uuid IS NULL OR organization_id = ${organizationId}::uuid)
    ORDER BY organization_id LIMIT 2`);
}
