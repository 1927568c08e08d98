import { CREDENTIAL_KINDS, ENVIRONMENT_PERMISSIONS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";

/** What a first start makes, so that the service can be used without any configuration. */
export type Tenancy = { projectId: string; environmentId: string; workerGroupId: string; userId: string };

/** Plain credentials, known only to whoever made them. */
export type BootstrapCredentials = {
  apiKey: string;
  userToken: string;
  adminKey: string;
  capacityKey: string;
  enrollmentToken: string;
};

const DAY_MS = 86_400_000;
/** The login link's session; a new one is made whenever the credentials file is. */
const USER_SESSION_MS = 30 * DAY_MS;

/** The bootstrap's own lock: two servers that start at once on an empty database make one tenancy. */
const BOOTSTRAP_LOCK = 7_305_821;

/** Finds the first organization's development environment, or makes organization, project, environments and owner. */
export async function ensureTenancy(tx: Tx, newUuid: NewUuid): Promise<Tenancy> {
  await tx.query(sql`SELECT pg_advisory_xact_lock(${BOOTSTRAP_LOCK})`);
  const [found] = await tx.query<Tenancy>(sql`
    SELECT p.id AS "projectId", v.id AS "environmentId", v.worker_group_id AS "workerGroupId", m.user_id AS "userId"
    FROM environments v
    JOIN projects p ON p.id = v.project_id
    JOIN members m ON m.organization_id = p.organization_id AND m.role = 'owner'
    WHERE v.slug = 'development'
    ORDER BY v.created_at, v.id LIMIT 1`);
  if (found !== undefined) return found;
  const [organizationId, projectId, environmentId, productionId, workerGroupId, userId] = Array.from(
    { length: 6 },
    newUuid,
  ) as [string, string, string, string, string, string];
  await tx.query(sql`INSERT INTO worker_groups (id, name) VALUES (${workerGroupId}, 'default')`);
  await tx.query(
    sql`INSERT INTO organizations (id, name, slug) VALUES (${organizationId}, 'Default', 'default')`,
  );
  await tx.query(
    sql`INSERT INTO projects (id, organization_id, name, slug) VALUES (${projectId}, ${organizationId}, 'Default', 'default')`,
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

/** Makes one credential of each kind that a local user, operator and agent need. */
export async function mintBootstrapCredentials(
  tx: Tx,
  tenancy: Tenancy,
  newUuid: NewUuid,
  make: MakeCredential,
  now: number,
): Promise<BootstrapCredentials> {
  const apiKey = make(CREDENTIAL_KINDS.apiKey);
  const userToken = make(CREDENTIAL_KINDS.userSession);
  const adminKey = make(CREDENTIAL_KINDS.admin);
  const capacityKey = make(CREDENTIAL_KINDS.capacity);
  const enrollmentToken = make(CREDENTIAL_KINDS.enrollment);
  await tx.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions)
    VALUES (${apiKey.digest}, ${newUuid()}, ${tenancy.environmentId}, 'First start', ${[...ENVIRONMENT_PERMISSIONS]}::text[])`);
  await tx.query(sql`
    INSERT INTO user_sessions (digest, id, user_id, expires_at)
    VALUES (${userToken.digest}, ${newUuid()}, ${tenancy.userId}, to_timestamp(${now + USER_SESSION_MS}::float8 / 1000))`);
  await tx.query(sql`
    INSERT INTO service_keys (digest, id, kind, name)
    VALUES (${adminKey.digest}, ${newUuid()}, 'admin', 'First start'), (${capacityKey.digest}, ${newUuid()}, 'capacity', 'First start')`);
  await tx.query(sql`
    INSERT INTO enrollment_tokens (digest, id, worker_group_id, name)
    VALUES (${enrollmentToken.digest}, ${newUuid()}, ${tenancy.workerGroupId}, 'First start')`);
  return {
    apiKey: apiKey.text,
    userToken: userToken.text,
    adminKey: adminKey.text,
    capacityKey: capacityKey.text,
    enrollmentToken: enrollmentToken.text,
  };
}

/** Whether a credential of an earlier start still is one of this database. */
export async function knowsEnrollment(tx: Tx, digest: Buffer): Promise<boolean> {
  const rows = await tx.query(
    sql`SELECT 1 FROM enrollment_tokens WHERE digest = ${digest} AND revoked_at IS NULL`,
  );
  return rows.length > 0;
}
