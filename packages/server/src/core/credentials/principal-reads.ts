import { PUBLIC_RUN_PERMISSION, type PublicScope, type Role, type Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { grantedPermissions, type OauthPrincipal, type Principal } from "./principal.ts";
import type { RunLease } from "./run-token.ts";

/** A principal and until when its credential is good; null for ever. Revoked credentials are not found. */
export type FoundPrincipal = { principal: Principal; expiresAt: number | null };

export async function findApiKey(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{
    id: Uuid<"key">;
    organizationId: Uuid<"org">;
    projectId: Uuid<"proj">;
    environmentId: Uuid<"env">;
    workerGroupId: Uuid<"wgrp">;
    permissions: string[];
    expiresAt: number | null;
  }>(sql`
    SELECT k.id, p.organization_id, p.id AS project_id, v.id AS environment_id,
      v.worker_group_id, k.permissions, k.expires_at
    FROM api_keys k
    JOIN environments v ON v.id = k.environment_id
    JOIN projects p ON p.id = v.project_id
    WHERE k.digest = ${digest} AND k.revoked_at IS NULL`);
  if (row === undefined) return null;
  const { expiresAt, permissions, ...rest } = row;
  return { principal: { kind: "api_key", ...rest, permissions: new Set(permissions) }, expiresAt };
}

export async function findUserSession(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{
    id: Uuid<"user">;
    isAdmin: boolean;
    sessionId: Uuid<"usess">;
    expiresAt: number;
  }>(sql`
    SELECT u.id, u.is_admin, s.id AS session_id, s.expires_at
    FROM user_sessions s JOIN users u ON u.id = s.user_id
    WHERE s.digest = ${digest} AND s.revoked_at IS NULL AND u.suspended_at IS NULL`);
  if (row === undefined) return null;
  const { expiresAt, ...rest } = row;
  return { principal: { kind: "user", ...rest }, expiresAt };
}

type OauthAccessRow = Omit<OauthPrincipal, "kind" | "permissions" | "withheld"> & {
  role: Role;
  expiresAt: number;
};

/** While its person is a member of the environment's organization. */
export async function findOauthAccess(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<OauthAccessRow>(sql`
    SELECT g.id, g.user_id, g.client_id, c.name AS client_name, t.generation, p.organization_id, p.id AS project_id,
      v.id AS environment_id, v.worker_group_id, g.access, m.role, t.expires_at
    FROM oauth_tokens t
    JOIN oauth_grants g ON g.id = t.grant_id
    JOIN oauth_clients c ON c.id = g.client_id
    JOIN users u ON u.id = g.user_id
    JOIN environments v ON v.id = g.environment_id
    JOIN projects p ON p.id = v.project_id
    JOIN members m ON m.organization_id = p.organization_id AND m.user_id = g.user_id
    WHERE t.digest = ${digest} AND t.kind = 'access' AND g.revoked_at IS NULL AND u.suspended_at IS NULL`);
  if (row === undefined) return null;
  const { expiresAt, role, ...rest } = row;
  const principal = { kind: "oauth_grant" as const, ...rest, ...grantedPermissions(role, row.access) };
  return { principal, expiresAt };
}

export async function findWorkerToken(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{ workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp">; expiresAt: number }>(sql`
    SELECT w.id AS worker_id, w.worker_group_id, t.expires_at
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
  const [row] = await db.query<{ id: Uuid<"tok">; environmentId: Uuid<"env"> }>(sql`
    SELECT id, environment_id FROM tokens WHERE public_digest = ${digest}`);
  return row === undefined ? null : { principal: { kind: "completion_token", ...row }, expiresAt: null };
}

/** What a token covers never changes; its uses are counted where they are used. */
export async function findPublicAccess(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{
    id: Uuid<"pat">;
    environmentId: Uuid<"env">;
    permission: PublicScope;
    runId: Uuid<"run"> | null;
    sessionId: Uuid<"sess"> | null;
    streamIds: Uuid<"strm">[];
    correlationId: string | null;
    maxUses: number | null;
    expiresAt: number;
  }>(sql`
    SELECT id, environment_id, permission, run_id, session_id, coalesce(stream_ids, array_remove(ARRAY[stream_id], NULL)) AS stream_ids,
      correlation_id, max_uses, expires_at
    FROM public_access_tokens WHERE digest = ${digest}`);
  if (row === undefined) return null;
  const { expiresAt, permission, runId, sessionId, streamIds, correlationId, ...held } = row;
  // The table holds that a token is for a run, or for streams or files of a session, as its permission says.
  const access =
    permission === PUBLIC_RUN_PERMISSION
      ? { ...held, permission, runId: runId as Uuid<"run"> }
      : { ...held, permission, sessionId: sessionId as Uuid<"sess">, streamIds, correlationId };
  return { principal: { kind: "public_access", ...access }, expiresAt };
}

export async function findServiceKey(db: Queryable, digest: Buffer): Promise<FoundPrincipal | null> {
  const [row] = await db.query<{
    id: Uuid<"skey">;
    kind: "admin" | "capacity";
    expiresAt: number | null;
  }>(sql`
    SELECT id, kind, expires_at FROM service_keys WHERE digest = ${digest} AND revoked_at IS NULL`);
  return row === undefined ? null : { principal: { kind: row.kind, id: row.id }, expiresAt: row.expiresAt };
}

export type UserEnvironment = {
  organizationId: Uuid<"org">;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  workerGroupId: Uuid<"wgrp">;
  role: Role;
};

const userEnvironment = (
  userId: Uuid<"user">,
  projectId: Uuid<"proj">,
  environmentId: Uuid<"env">,
): Sql => sql`
  SELECT p.organization_id, p.id AS project_id, v.id AS environment_id,
    v.worker_group_id, m.role
  FROM members m
  JOIN projects p ON p.organization_id = m.organization_id
  JOIN environments v ON v.project_id = p.id
  WHERE m.user_id = ${userId} AND p.id = ${projectId} AND v.id = ${environmentId}`;

/** An environment that the user is a member for; null when it does not exist, or is not theirs. */
export async function findUserEnvironment(
  db: Queryable,
  userId: Uuid<"user">,
  projectId: Uuid<"proj">,
  environmentId: Uuid<"env">,
): Promise<UserEnvironment | null> {
  const [row] = await db.query<UserEnvironment>(userEnvironment(userId, projectId, environmentId));
  return row ?? null;
}

/** As `findUserEnvironment`, for a user who stays a member until the transaction has ended. */
export async function lockUserEnvironment(
  tx: Tx,
  userId: Uuid<"user">,
  projectId: Uuid<"proj">,
  environmentId: Uuid<"env">,
): Promise<UserEnvironment | null> {
  // A removal of the member waits, and then sees what is made for them here. Others who make something do not wait.
  const [row] = await tx.query<UserEnvironment>(
    sql`${userEnvironment(userId, projectId, environmentId)} FOR KEY SHARE OF m`,
  );
  return row ?? null;
}

/** A project, or one of its environments, of which the user is a member. */
export type UserProject = {
  organizationId: Uuid<"org">;
  projectId: Uuid<"proj">;
  /** Null where none was asked for. */
  environmentId: Uuid<"env"> | null;
  role: Role;
};

/** The project as its member sees it; null when it does not exist, or is not theirs, or has no such environment. */
export async function findUserProject(
  db: Queryable,
  userId: Uuid<"user">,
  projectId: Uuid<"proj">,
  environmentId: Uuid<"env"> | null,
): Promise<UserProject | null> {
  const [row] = await db.query<UserProject>(sql`
    SELECT p.organization_id, p.id AS project_id, v.id AS environment_id, m.role
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
  userId: Uuid<"user">,
  organizationId: Uuid<"org"> | null,
): Promise<{ organizationId: Uuid<"org">; role: Role }[]> {
  const asked = organizationId === null ? sql`` : sql` AND organization_id = ${organizationId}`;
  return db.query<{ organizationId: Uuid<"org">; role: Role }>(sql`
    SELECT organization_id, role FROM members WHERE user_id = ${userId}${asked} ORDER BY organization_id LIMIT 2`);
}

type LeasedRun = {
  id: Uuid<"run">;
  attemptNumber: number;
  organizationId: Uuid<"org">;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  workerGroupId: Uuid<"wgrp">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  deploymentId: Uuid<"dep">;
};

/** Validity is the equality of the epoch and that somebody holds the lease; time only decides who may take it over. */
export async function findLeasedRun(
  db: Queryable,
  { environmentId, runId, epoch }: RunLease,
): Promise<LeasedRun | null> {
  const [row] = await db.query<LeasedRun>(sql`
    SELECT r.id, e.attempt_number, p.organization_id, p.id AS project_id,
      v.id AS environment_id, v.worker_group_id, r.entrypoint_kind, r.entrypoint,
      r.deployment_id
    FROM executions e
    JOIN runs r ON r.environment_id = e.environment_id AND r.id = e.run_id
    JOIN environments v ON v.id = e.environment_id
    JOIN projects p ON p.id = v.project_id
    WHERE e.environment_id = ${environmentId} AND e.run_id = ${runId} AND e.epoch = ${epoch} AND e.worker_id IS NOT NULL`);
  return row ?? null;
}
