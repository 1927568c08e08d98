import type { Role } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

type Named = { id: string; name: string; slug: string; createdAt: number; updatedAt: number };
export type OrganizationRow = Named & { role: Role };
export type ProjectRow = Named & { organizationId: string };
export type EnvironmentRow = Named & { projectId: string; currentDeploymentId: string | null };

const ORGANIZATION = rawSql(
  `o.id, o.name, o.slug, m.role, o.created_at AS "createdAt", o.updated_at AS "updatedAt"`,
);
const PROJECT = rawSql(
  `id, organization_id AS "organizationId", name, slug, created_at AS "createdAt", updated_at AS "updatedAt"`,
);
const ENVIRONMENT = rawSql(
  `id, project_id AS "projectId", name, slug, current_deployment_id AS "currentDeploymentId",
   created_at AS "createdAt", updated_at AS "updatedAt"`,
);

/** The organizations of a user, newest first, after `before`. */
export function listUserOrganizations(
  db: Queryable,
  userId: string,
  before: string | null,
  limit: number,
): Promise<OrganizationRow[]> {
  return db.query<OrganizationRow>(sql`
    SELECT ${ORGANIZATION} FROM members m JOIN organizations o ON o.id = m.organization_id
    WHERE m.user_id = ${userId} AND (${before}::uuid IS NULL OR o.id < ${before}::uuid)
    ORDER BY o.id DESC LIMIT ${limit}`);
}

export async function findUserOrganization(
  db: Queryable,
  userId: string,
  organizationId: string,
): Promise<OrganizationRow | null> {
  const [row] = await db.query<OrganizationRow>(sql`
    SELECT ${ORGANIZATION} FROM members m JOIN organizations o ON o.id = m.organization_id
    WHERE m.user_id = ${userId} AND o.id = ${organizationId}`);
  return row ?? null;
}

/** Newest first, after `before`. */
export function listProjects(
  db: Queryable,
  organizationId: string,
  before: string | null,
  limit: number,
): Promise<ProjectRow[]> {
  return db.query<ProjectRow>(sql`
    SELECT ${PROJECT} FROM projects
    WHERE organization_id = ${organizationId} AND (${before}::uuid IS NULL OR id < ${before}::uuid)
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findProject(
  db: Queryable,
  organizationId: string,
  projectId: string,
): Promise<ProjectRow | null> {
  const [row] = await db.query<ProjectRow>(sql`
    SELECT ${PROJECT} FROM projects WHERE organization_id = ${organizationId} AND id = ${projectId}`);
  return row ?? null;
}

/** Newest first, after `before`. */
export function listEnvironments(
  db: Queryable,
  projectId: string,
  before: string | null,
  limit: number,
): Promise<EnvironmentRow[]> {
  return db.query<EnvironmentRow>(sql`
    SELECT ${ENVIRONMENT} FROM environments
    WHERE project_id = ${projectId} AND (${before}::uuid IS NULL OR id < ${before}::uuid)
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findEnvironment(
  db: Queryable,
  projectId: string,
  environmentId: string,
): Promise<EnvironmentRow | null> {
  const [row] = await db.query<EnvironmentRow>(sql`
    SELECT ${ENVIRONMENT} FROM environments WHERE project_id = ${projectId} AND id = ${environmentId}`);
  return row ?? null;
}

/** Changes of an organization's members and projects follow each other: their rules look at several rows. */
export async function lockOrganization(tx: Tx, organizationId: string): Promise<void> {
  await tx.query(sql`SELECT id FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`);
}

/** Changes of a project's environments follow each other. */
export async function lockProject(tx: Tx, projectId: string): Promise<void> {
  await tx.query(sql`SELECT id FROM projects WHERE id = ${projectId} FOR NO KEY UPDATE`);
}

/** The group whose workers run what a new environment starts: its organization's, that of its neighbours, the first of all. */
export async function findWorkerGroupFor(db: Queryable, organizationId: string): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(sql`
    SELECT coalesce(
      (SELECT worker_group_id FROM organizations WHERE id = ${organizationId}),
      (SELECT v.worker_group_id FROM projects p JOIN environments v ON v.project_id = p.id
       WHERE p.organization_id = ${organizationId} ORDER BY v.id LIMIT 1),
      (SELECT id FROM worker_groups ORDER BY id LIMIT 1)) AS id`);
  return row?.id ?? null;
}
