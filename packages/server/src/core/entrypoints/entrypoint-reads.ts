import type { DeploymentStatus, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type EntrypointKind = "task" | "actor";

/** The identity of a declared id; what it declares is the current deployment's. */
export type EntrypointRow = { id: string; declaredId: string; createdAt: number };

export async function findEntrypoint(
  db: Queryable,
  environmentId: Uuid<"env">,
  kind: EntrypointKind,
  entrypointId: string,
): Promise<EntrypointRow | null> {
  const [row] = await db.query<EntrypointRow>(sql`
    SELECT id, declared_id, created_at FROM entrypoints
    WHERE environment_id = ${environmentId} AND kind = ${kind} AND id = ${entrypointId}`);
  return row ?? null;
}

/** Those of the declared ids, newest first, after the entrypoint `before`. */
export function listEntrypoints(
  db: Queryable,
  environmentId: Uuid<"env">,
  kind: EntrypointKind,
  declaredIds: readonly string[],
  before: string | null,
  limit: number,
): Promise<EntrypointRow[]> {
  return db.query<EntrypointRow>(sql`
    SELECT id, declared_id, created_at FROM entrypoints
    WHERE environment_id = ${environmentId} AND kind = ${kind} AND declared_id = ANY(${declaredIds}::text[])
      AND ${isBefore(sql`id`, before)}
    ORDER BY id DESC LIMIT ${limit}`);
}

/** What starting runs needs of a deployment. `manifest` is JSON text. */
export type DeclaredDeployment = {
  id: Uuid<"dep">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  workerGroupId: Uuid<"wgrp">;
  version: string;
  status: DeploymentStatus;
  bundleDigest: Buffer;
  bundleFormatVersion: number;
  requirement: string | null;
  manifest: string;
};

export async function findDeclaredDeployment(
  db: Queryable,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
): Promise<DeclaredDeployment | null> {
  const [row] = await db.query<DeclaredDeployment>(sql`
    SELECT d.id, d.environment_id, d.project_id, v.worker_group_id, d.version,
      d.status, d.bundle_digest, d.bundle_format_version, d.requirement, d.manifest
    FROM deployments d JOIN environments v ON v.id = d.environment_id
    WHERE d.environment_id = ${environmentId} AND d.id = ${deploymentId}`);
  return row ?? null;
}

export async function findCurrentDeploymentId(
  db: Queryable,
  environmentId: Uuid<"env">,
): Promise<Uuid<"dep"> | null> {
  const [row] = await db.query<{ id: Uuid<"dep"> | null }>(sql`
    SELECT current_deployment_id AS id FROM environments WHERE id = ${environmentId}`);
  return row?.id ?? null;
}

export async function findReadyDeploymentId(
  db: Queryable,
  environmentId: Uuid<"env">,
  version: string,
): Promise<Uuid<"dep"> | null> {
  const [row] = await db.query<{ id: Uuid<"dep"> }>(sql`
    SELECT id FROM deployments WHERE environment_id = ${environmentId} AND version = ${version} AND status = 'ready'`);
  return row?.id ?? null;
}
