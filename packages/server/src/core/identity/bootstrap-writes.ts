import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** What a first start makes, so that the service can be used without any configuration. */
export type Tenancy = {
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  workerGroupId: Uuid<"wgrp">;
  userId: Uuid<"user">;
};

/** The project that a first start makes. */
export type FirstProject = { name: string; slug: string };

/** The bootstrap's own lock: two servers that start at once on an empty database make one tenancy. */
const BOOTSTRAP_LOCK = 7_305_821;

/** Held until the end of the transaction. */
export async function lockBootstrap(tx: Tx): Promise<void> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(${BOOTSTRAP_LOCK})`);
}

/**
 * The environment that the first start made, whatever it is called by now, with an owner of its organization. Ids are in the order in which
 * they were made, and no organization, project or environment is ever deleted.
 */
export async function findFirstTenancy(tx: Tx): Promise<Tenancy | null> {
  const [found] = await tx.query<Tenancy>(sql`
    SELECT p.id AS project_id, v.id AS environment_id, v.worker_group_id, m.user_id
    FROM (SELECT id FROM organizations ORDER BY id LIMIT 1) o
    JOIN projects p ON p.organization_id = o.id
    JOIN environments v ON v.project_id = p.id
    JOIN members m ON m.organization_id = o.id AND m.role = 'owner'
    ORDER BY p.id, v.id, m.created_at, m.user_id LIMIT 1`);
  return found ?? null;
}

/** Organization, project, its two environments, their worker group and the owner. */
export async function insertTenancy(
  tx: Tx,
  { projectId, environmentId, workerGroupId, userId }: Tenancy,
  { organizationId, productionId }: { organizationId: Uuid<"org">; productionId: Uuid<"env"> },
  project: FirstProject,
): Promise<void> {
  await tx.query(sql`
    WITH worker_group AS (
      INSERT INTO worker_groups (id, name) VALUES (${workerGroupId}, 'default')
    ), organization AS (
      INSERT INTO organizations (id, name, slug) VALUES (${organizationId}, 'Default', 'default')
    ), project AS (
      INSERT INTO projects (id, organization_id, name, slug)
      VALUES (${projectId}, ${organizationId}, ${project.name}, ${project.slug})
    ), owner AS (
      INSERT INTO users (id, email, name, is_admin) VALUES (${userId}, 'owner@localhost', 'Owner', true)
    ), member AS (
      INSERT INTO members (organization_id, user_id, role) VALUES (${organizationId}, ${userId}, 'owner')
    )
    INSERT INTO environments (id, project_id, name, slug, worker_group_id)
    VALUES (${environmentId}, ${projectId}, 'Development', 'development', ${workerGroupId}),
      (${productionId}, ${projectId}, 'Production', 'production', ${workerGroupId})`);
}

/** Digests of credentials; each id is the credential's own. */
export type CredentialDigests = {
  apiKey: { digest: Buffer; id: string; permissions: readonly string[] };
  userSession: { digest: Buffer; id: string; expiresAt: number };
  adminKey: { digest: Buffer; id: string };
  capacityKey: { digest: Buffer; id: string };
  enrollmentToken: { digest: Buffer; id: string };
};

/** The API key is for the first environment, the rest for the whole installation. */
export async function insertBootstrapCredentials(
  tx: Tx,
  { environmentId, workerGroupId, userId }: Tenancy,
  { apiKey, userSession, adminKey, capacityKey, enrollmentToken }: CredentialDigests,
): Promise<void> {
  await tx.query(sql`
    WITH api_key AS (
      INSERT INTO api_keys (digest, id, environment_id, name, permissions)
      VALUES (${apiKey.digest}, ${apiKey.id}, ${environmentId}, 'First start', ${apiKey.permissions}::text[])
    ), user_session AS (
      INSERT INTO user_sessions (digest, id, user_id, expires_at)
      VALUES (${userSession.digest}, ${userSession.id}, ${userId}, ${timestamp(userSession.expiresAt)})
    ), service_key AS (
      INSERT INTO service_keys (digest, id, kind, name)
      VALUES (${adminKey.digest}, ${adminKey.id}, 'admin', 'First start'),
        (${capacityKey.digest}, ${capacityKey.id}, 'capacity', 'First start')
    )
    INSERT INTO enrollment_tokens (digest, id, worker_group_id, name)
    VALUES (${enrollmentToken.digest}, ${enrollmentToken.id}, ${workerGroupId}, 'First start')`);
}

/** Another enrollment token, in the place of one that was revoked. */
export async function insertEnrollmentToken(
  tx: Tx,
  { workerGroupId }: Tenancy,
  { digest, id }: CredentialDigests["enrollmentToken"],
): Promise<void> {
  await tx.query(sql`
    INSERT INTO enrollment_tokens (digest, id, worker_group_id, name)
    VALUES (${digest}, ${id}, ${workerGroupId}, 'Start after the one before was revoked')`);
}

/** Whether an enrollment token was revoked; null when there is none with this digest. */
export async function findRevocation(tx: Tx, digest: Buffer): Promise<boolean | null> {
  const [row] = await tx.query<{ isRevoked: boolean }>(
    sql`SELECT revoked_at IS NOT NULL AS is_revoked FROM enrollment_tokens WHERE digest = ${digest}`,
  );
  return row?.isRevoked ?? null;
}
