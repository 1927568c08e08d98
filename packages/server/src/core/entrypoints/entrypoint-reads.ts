import type { DeploymentStatus } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type EntrypointKind = "task" | "actor";

/** The identity of a declared id; what it declares is the current deployment's. */
export type EntrypointRow = { id: string; declaredId: string; createdAt: number };

export async function findEntrypoint(
  db: Queryable,
  environmentId: string,
  kind: EntrypointKind,
  entrypointId: string,
): Promise<EntrypointRow | null> {
  const [row] = await db.query<EntrypointRow>(sql`
    SELECT id, declared_id AS "declaredId", created_at AS "createdAt" FROM entrypoints
    WHERE environment_id = ${environmentId} AND kind = ${kind} AND id = ${entrypointId}`);
  return row ?? null;
}

/** Those of the declared ids, newest first, after the entrypoint `before`. */
export function listEntrypoints(
  db: Queryable,
  environmentId: string,
  kind: EntrypointKind,
  declaredIds: readonly string[],
  before: string | null,
  limit: number,
): Promise<EntrypointRow[]> {
  return db.query<EntrypointRow>(sql`
    SELECT id, declared_id AS "declaredId", created_at AS "createdAt" FROM entrypoints
    WHERE environment_id = ${environmentId} AND kind = ${kind} AND declared_id = ANY(${declaredIds}::text[])
      AND (${before}::uuid IS NULL OR id < ${before}::uuid)
    ORDER BY id DESC LIMIT ${limit}`);
}

/** What starting runs needs of a deployment. `manifest` is JSON text. */
export type DeclaredDeployment = {
  id: string;
  environmentId: string;
  projectId: string;
  workerGroupId: string;
  version: string;
  status: DeploymentStatus;
  bundleDigest: Buffer;
  manifest: string;
};

export async function findDeclaredDeployment(
  db: Queryable,
  environmentId: string,
  deploymentId: string,
): Promise<DeclaredDeployment | null> {
  const [row] = await db.query<DeclaredDeployment>(sql`
    SELECT d.id, d.environment_id AS "environmentId", d.project_id AS "projectId", v.worker_group_id AS "workerGroupId", d.version,
      d.status, d.bundle_digest AS "bundleDigest", d.manifest
    FROM deployments d JOIN environments v ON v.id = d.environment_id
    WHERE d.environment_id = ${environmentId} AND d.id = ${deploymentId}`);
  return row ?? null;
}

export async function findCurrentDeploymentId(db: Queryable, environmentId: string): Promise<string | null> {
  const [row] = await db.query<{ id: string | null }>(sql`
    SELECT current_deployment_id AS id FROM environments WHERE id = ${environmentId}`);
  return row?.id ?? null;
}

export async function findReadyDeploymentId(
  db: Queryable,
  environmentId: string,
  version: string,
): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(sql`
    SELECT id FROM deployments WHERE environment_id = ${environmentId} AND version = ${version} AND status = 'ready'`);
  return row?.id ?? null;
}
