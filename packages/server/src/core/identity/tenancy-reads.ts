import type { IdPrefix, Role, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

type Named<Prefix extends IdPrefix> = {
  id: Uuid<Prefix>;
  name: string;
  slug: string;
  createdAt: number;
  updatedAt: number;
};
export type OrganizationRow = Named<"org"> & { role: Role };
export type ProjectRow = Named<"proj"> & { organizationId: Uuid<"org"> };
export type EnvironmentRow = Named<"env"> & {
  projectId: Uuid<"proj">;
  currentDeploymentId: Uuid<"dep"> | null;
};

const ORGANIZATION = rawSql(`o.id, o.name, o.slug, m.role, o.created_at, o.updated_at`);
const PROJECT = rawSql(`id, organization_id, name, slug, created_at, updated_at`);
const ENVIRONMENT = rawSql(
  `id, project_id, name, slug, current_deployment_id,
   created_at, updated_at`,
);

/** The organizations of a user, newest first, after `before`. */
export function listUserOrganizations(
  db: Queryable,
  userId: Uuid<"user">,
  before: string | null,
  limit: number,
): Promise<OrganizationRow[]> {
  return db.query<OrganizationRow>(sql`
    SELECT ${ORGANIZATION} FROM members m JOIN organizations o ON o.id = m.organization_id
    WHERE m.user_id = ${userId} AND ${isBefore(sql`m.organization_id`, before)}
    ORDER BY m.organization_id DESC LIMIT ${limit}`);
}

export async function findUserOrganization(
  db: Queryable,
  userId: Uuid<"user">,
  organizationId: Uuid<"org">,
): Promise<OrganizationRow | null> {
  const [row] = await db.query<OrganizationRow>(sql`
    SELECT ${ORGANIZATION} FROM members m JOIN organizations o ON o.id = m.organization_id
    WHERE m.user_id = ${userId} AND o.id = ${organizationId}`);
  return row ?? null;
}

/** Newest first, after `before`. */
export function listProjects(
  db: Queryable,
  organizationId: Uuid<"org">,
  before: string | null,
  limit: number,
): Promise<ProjectRow[]> {
  return db.query<ProjectRow>(sql`
    SELECT ${PROJECT} FROM projects
    WHERE organization_id = ${organizationId} AND ${isBefore(sql`id`, before)}
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findProject(
  db: Queryable,
  organizationId: Uuid<"org">,
  projectId: Uuid<"proj">,
): Promise<ProjectRow | null> {
  const [row] = await db.query<ProjectRow>(sql`
    SELECT ${PROJECT} FROM projects WHERE organization_id = ${organizationId} AND id = ${projectId}`);
  return row ?? null;
}

/** Newest first, after `before`. */
export function listEnvironments(
  db: Queryable,
  projectId: Uuid<"proj">,
  before: string | null,
  limit: number,
): Promise<EnvironmentRow[]> {
  return db.query<EnvironmentRow>(sql`
    SELECT ${ENVIRONMENT} FROM environments
    WHERE project_id = ${projectId} AND ${isBefore(sql`id`, before)}
    ORDER BY id DESC LIMIT ${limit}`);
}

export async function findEnvironment(
  db: Queryable,
  projectId: Uuid<"proj">,
  environmentId: Uuid<"env">,
): Promise<EnvironmentRow | null> {
  const [row] = await db.query<EnvironmentRow>(sql`
    SELECT ${ENVIRONMENT} FROM environments WHERE project_id = ${projectId} AND id = ${environmentId}`);
  return row ?? null;
}

/** Changes of an organization's members and projects follow each other: their rules look at several rows. */
export async function lockOrganization(tx: Tx, organizationId: Uuid<"org">): Promise<void> {
  await tx.query(sql`SELECT id FROM organizations WHERE id = ${organizationId} FOR NO KEY UPDATE`);
}

/** Changes of a project's environments follow each other. */
export async function lockProject(tx: Tx, projectId: Uuid<"proj">): Promise<void> {
  await tx.query(sql`SELECT id FROM projects WHERE id = ${projectId} FOR NO KEY UPDATE`);
}

/** The group whose workers run what a new environment starts: its organization's, that of its neighbours, the first of all. */
export async function findWorkerGroupFor(
  db: Queryable,
  organizationId: Uuid<"org">,
): Promise<Uuid<"wgrp"> | null> {
  const [row] = await db.query<{ id: Uuid<"wgrp"> }>(sql`
    SELECT coalesce(
      (SELECT worker_group_id FROM organizations WHERE id = ${organizationId}),
      (SELECT v.worker_group_id FROM projects p JOIN environments v ON v.project_id = p.id
       WHERE p.organization_id = ${organizationId} ORDER BY v.id LIMIT 1),
      (SELECT id FROM worker_groups ORDER BY id LIMIT 1)) AS id`);
  return row?.id ?? null;
}
