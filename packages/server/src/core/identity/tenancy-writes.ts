import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewProject = {
  id: Uuid<"proj">;
  organizationId: Uuid<"org">;
  name: string;
  slug: string;
  now: number;
};

/** False when the organization has a project of that slug. */
export async function insertProject(tx: Tx, project: NewProject): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO projects (id, organization_id, name, slug, created_at, updated_at)
    SELECT ${project.id}::uuid, ${project.organizationId}::uuid, ${project.name}::text, ${project.slug}::text, at, at
    FROM ${timestamp(project.now)} AS at
    ON CONFLICT (organization_id, slug) DO NOTHING RETURNING id`);
  return rows.length > 0;
}

export type NewEnvironment = {
  id: Uuid<"env">;
  projectId: Uuid<"proj">;
  name: string;
  slug: string;
  workerGroupId: Uuid<"wgrp">;
  now: number;
};

/** False when the project has an environment of that slug. */
export async function insertEnvironment(tx: Tx, environment: NewEnvironment): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO environments (id, project_id, name, slug, worker_group_id, created_at, updated_at)
    SELECT ${environment.id}::uuid, ${environment.projectId}::uuid, ${environment.name}::text, ${environment.slug}::text,
      ${environment.workerGroupId}::uuid, at, at
    FROM ${timestamp(environment.now)} AS at
    ON CONFLICT (project_id, slug) DO NOTHING RETURNING id`);
  return rows.length > 0;
}

/** Null leaves a value as it is. */
export type NameChange = { name: string | null; slug: string | null; now: number };

/** False when another project of the organization has the slug. The organization is locked. */
export async function updateProject(
  tx: Tx,
  organizationId: Uuid<"org">,
  projectId: Uuid<"proj">,
  { name, slug, now }: NameChange,
): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE projects SET name = coalesce(${name}::text, name), slug = coalesce(${slug}::text, slug),
      updated_at = ${timestamp(now)}
    WHERE organization_id = ${organizationId} AND id = ${projectId} AND NOT EXISTS (
      SELECT 1 FROM projects other
      WHERE other.organization_id = ${organizationId} AND other.slug = ${slug}::text AND other.id <> ${projectId})
    RETURNING id`);
  return rows.length > 0;
}

/** False when another environment of the project has the slug. The project is locked. */
export async function updateEnvironment(
  tx: Tx,
  projectId: Uuid<"proj">,
  environmentId: Uuid<"env">,
  { name, slug, now }: NameChange,
): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE environments SET name = coalesce(${name}::text, name), slug = coalesce(${slug}::text, slug),
      updated_at = ${timestamp(now)}
    WHERE project_id = ${projectId} AND id = ${environmentId} AND NOT EXISTS (
      SELECT 1 FROM environments other
      WHERE other.project_id = ${projectId} AND other.slug = ${slug}::text AND other.id <> ${environmentId})
    RETURNING id`);
  return rows.length > 0;
}
