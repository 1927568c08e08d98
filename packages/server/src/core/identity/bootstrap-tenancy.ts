import { hash } from "node:crypto";
import { ENVIRONMENT_PERMISSIONS, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { NewUuid } from "../../uuid.ts";
import type { BootstrapCredentials } from "./bootstrap-credentials.ts";

/** What a first start makes, so that the service can be used without any configuration. */
export type Tenancy = {
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  workerGroupId: Uuid<"wgrp">;
  userId: Uuid<"user">;
};

/** The project that a first start makes. */
export type FirstProject = { name: string; slug: string };
export const DEFAULT_PROJECT: FirstProject = { name: "Default", slug: "default" };

const DAY_MS = 86_400_000;
/** The login link's session; a new one is made whenever the credentials file is. */
const USER_SESSION_MS = 30 * DAY_MS;

/** The bootstrap's own lock: two servers that start at once on an empty database make one tenancy. */
const BOOTSTRAP_LOCK = 7_305_821;

/** Finds the first organization's development environment, or makes organization, project, environments and owner. */
export async function ensureTenancy(tx: Tx, newUuid: NewUuid, project: FirstProject): Promise<Tenancy> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(${BOOTSTRAP_LOCK})`);
  const [found] = await tx.query<Tenancy>(sql`
    SELECT p.id AS project_id, v.id AS environment_id, v.worker_group_id, m.user_id
    FROM environments v
    JOIN projects p ON p.id = v.project_id
    JOIN members m ON m.organization_id = p.organization_id AND m.role = 'owner'
    WHERE v.slug = 'development'
    ORDER BY v.created_at, v.id LIMIT 1`);
  if (found !== undefined) return found;
  const organizationId = newUuid<"org">();
  const projectId = newUuid<"proj">();
  const environmentId = newUuid<"env">();
  const productionId = newUuid<"env">();
  const workerGroupId = newUuid<"wgrp">();
  const userId = newUuid<"user">();
  await tx.query(sql`INSERT INTO worker_groups (id, name) VALUES (${workerGroupId}, 'default')`);
  await tx.query(
    sql`INSERT INTO organizations (id, name, slug) VALUES (${organizationId}, 'Default', 'default')`,
  );
  await tx.query(
    sql`INSERT INTO projects (id, organization_id, name, slug) VALUES (${projectId}, ${organizationId}, ${project.name}, ${project.slug})`,
  );
  await tx.query(sql`
    INSERT INTO environments (id, project_id, name, slug, worker_group_id)
    VALUES (${environmentId}, ${projectId}, 'Development', 'development', ${workerGroupId}),
      (${productionId}, ${projectId}, 'Production', 'production', ${workerGroupId})`);
  await tx.query(
    sql`INSERT INTO users (id, email, name, is_admin) VALUES (${userId}, 'owner@localhost', 'Owner', true)`,
  );
  await tx.query(
    sql`INSERT INTO members (organization_id, user_id, role) VALUES (${organizationId}, ${userId}, 'owner')`,
  );
  return { projectId, environmentId, workerGroupId, userId };
}

/** Makes the credentials valid, those of an operator for the whole installation, the API key in the first environment. */
export async function storeBootstrapCredentials(
  tx: Tx,
  tenancy: Tenancy,
  credentials: BootstrapCredentials,
  newUuid: NewUuid,
  now: number,
): Promise<void> {
  const { apiKey, userToken, adminKey, capacityKey, enrollmentToken } = credentials;
  await tx.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions)
    VALUES (${digestOf(apiKey)}, ${newUuid()}, ${tenancy.environmentId}, 'First start', ${[...ENVIRONMENT_PERMISSIONS]}::text[])`);
  await tx.query(sql`
    INSERT INTO user_sessions (digest, id, user_id, expires_at)
    VALUES (${digestOf(userToken)}, ${newUuid()}, ${tenancy.userId}, ${timestamp(now + USER_SESSION_MS)})`);
  await tx.query(sql`
    INSERT INTO service_keys (digest, id, kind, name)
    VALUES (${digestOf(adminKey)}, ${newUuid()}, 'admin', 'First start'), (${digestOf(capacityKey)}, ${newUuid()}, 'capacity', 'First start')`);
  await tx.query(sql`
    INSERT INTO enrollment_tokens (digest, id, worker_group_id, name)
    VALUES (${digestOf(enrollmentToken)}, ${newUuid()}, ${tenancy.workerGroupId}, 'First start')`);
}

const digestOf = (credential: string): Buffer => hash("sha256", credential, "buffer");

/** Whether a set of credentials, known by its enrollment token, was stored: it is valid, or was revoked since. */
export async function findEnrollment(
  tx: Tx,
  enrollmentToken: string,
): Promise<"absent" | "valid" | "revoked"> {
  const [row] = await tx.query<{ isRevoked: boolean }>(
    sql`SELECT revoked_at IS NOT NULL AS is_revoked FROM enrollment_tokens WHERE digest = ${digestOf(enrollmentToken)}`,
  );
  if (row === undefined) return "absent";
  return row.isRevoked ? "revoked" : "valid";
}
