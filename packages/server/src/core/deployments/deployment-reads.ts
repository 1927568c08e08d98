import type { DeploymentEventKind, DeploymentStatus } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, rawSql, sql } from "../../db/sql.ts";

/** A deployment and whether its environment points at it. JSON is text, times are milliseconds. */
export type DeploymentRow = {
  id: string;
  environmentId: string;
  projectId: string;
  version: string;
  status: DeploymentStatus;
  isCurrent: boolean;
  promotedAt: number | null;
  apiVersion: string;
  cliVersion: string | null;
  sdkVersion: string | null;
  clientVersion: string | null;
  bundleFormatVersion: number;
  workerProtocolVersion: number;
  bundleDigest: Buffer;
  bundleSizeBytes: number;
  manifest: string;
  git: string | null;
  error: string | null;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(`
  d.id, d.environment_id AS "environmentId", d.project_id AS "projectId", d.version, d.status,
  v.current_deployment_id IS NOT DISTINCT FROM d.id AS "isCurrent", d.promoted_at AS "promotedAt", d.api_version AS "apiVersion",
  d.cli_version AS "cliVersion", d.sdk_version AS "sdkVersion", d.client_version AS "clientVersion",
  d.bundle_format_version AS "bundleFormatVersion", d.worker_protocol_version AS "workerProtocolVersion",
  d.bundle_digest AS "bundleDigest", d.bundle_size_bytes AS "bundleSizeBytes", d.manifest, d.git, d.error,
  d.created_at AS "createdAt", d.updated_at AS "updatedAt"`);

const JOINED = rawSql("deployments d JOIN environments v ON v.id = d.environment_id");

export async function findDeployment(
  db: Queryable,
  environmentId: string,
  deploymentId: string,
): Promise<DeploymentRow | null> {
  const [row] = await db.query<DeploymentRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED} WHERE d.environment_id = ${environmentId} AND d.id = ${deploymentId}`);
  return row ?? null;
}

export async function findCurrentDeployment(
  db: Queryable,
  environmentId: string,
): Promise<DeploymentRow | null> {
  const [row] = await db.query<DeploymentRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED} WHERE d.environment_id = ${environmentId} AND d.id = v.current_deployment_id`);
  return row ?? null;
}

/** Newest first, after the deployment `before`. Ids are UUIDv7, so the key is the order of creation. */
export function listDeployments(
  db: Queryable,
  environmentId: string,
  statuses: readonly DeploymentStatus[],
  before: string | null,
  limit: number,
): Promise<DeploymentRow[]> {
  const conditions = [sql`d.environment_id = ${environmentId}`];
  if (before !== null) conditions.push(sql`d.id < ${before}`);
  if (statuses.length > 0) conditions.push(sql`d.status = ANY(${statuses}::text[])`);
  return db.query<DeploymentRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED} WHERE ${joinSql(conditions, " AND ")} ORDER BY d.id DESC LIMIT ${limit}`);
}

export type DeploymentEventRow = {
  sequence: number;
  kind: DeploymentEventKind;
  message: string;
  attributes: string;
  at: number;
};

/** Events after the cursor, oldest first. */
export function listDeploymentEvents(
  db: Queryable,
  environmentId: string,
  deploymentId: string,
  after: number,
  limit: number,
): Promise<DeploymentEventRow[]> {
  return db.query<DeploymentEventRow>(sql`
    SELECT sequence, kind, message, attributes, at FROM deployment_events
    WHERE environment_id = ${environmentId} AND deployment_id = ${deploymentId} AND sequence > ${after}
    ORDER BY sequence LIMIT ${limit}`);
}

export async function findDeploymentStatus(
  db: Queryable,
  environmentId: string,
  deploymentId: string,
): Promise<DeploymentStatus | null> {
  const [row] = await db.query<{ status: DeploymentStatus }>(sql`
    SELECT status FROM deployments WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
  return row?.status ?? null;
}

export type LockedDeployment = {
  projectId: string;
  status: DeploymentStatus;
  version: string;
  manifest: string;
};

export async function lockDeployment(
  tx: Tx,
  environmentId: string,
  deploymentId: string,
): Promise<LockedDeployment | null> {
  const [row] = await tx.query<LockedDeployment>(sql`
    SELECT project_id AS "projectId", status, version, manifest FROM deployments
    WHERE environment_id = ${environmentId} AND id = ${deploymentId} FOR NO KEY UPDATE`);
  return row ?? null;
}

/**
 * The environment's pointer, under the lock that makes promotions follow one another. Weaker than FOR UPDATE, so that rows
 * that refer to the environment can be inserted meanwhile.
 */
export async function lockCurrentDeployment(
  tx: Tx,
  environmentId: string,
): Promise<{ currentDeploymentId: string | null; workerGroupId: string } | null> {
  const [row] = await tx.query<{ currentDeploymentId: string | null; workerGroupId: string }>(sql`
    SELECT current_deployment_id AS "currentDeploymentId", worker_group_id AS "workerGroupId"
    FROM environments WHERE id = ${environmentId} FOR NO KEY UPDATE`);
  return row ?? null;
}

export type CheckedDeployment = {
  environmentId: string;
  status: DeploymentStatus;
  manifest: string;
  checkId: string | null;
  checkWorkerId: string | null;
};

/**
 * A deployment by its id alone, among the environments that the worker's group serves. The tenant is found through the
 * group, so that the key's leading column is known and no other group's deployment can be named.
 */
export async function lockCheckedDeployment(
  tx: Tx,
  workerGroupId: string,
  deploymentId: string,
): Promise<CheckedDeployment | null> {
  const [row] = await tx.query<CheckedDeployment>(sql`
    SELECT d.environment_id AS "environmentId", d.status, d.manifest, d.check_id AS "checkId", d.check_worker_id AS "checkWorkerId"
    FROM environments v JOIN deployments d ON d.environment_id = v.id
    WHERE v.worker_group_id = ${workerGroupId} AND d.id = ${deploymentId}
    FOR NO KEY UPDATE OF d`);
  return row ?? null;
}

/** Worker groups with a deployment whose check was not answered in its time. */
export async function listGroupsWithExpiredChecks(db: Queryable, now: number): Promise<string[]> {
  const rows = await db.query<{ workerGroupId: string }>(sql`
    SELECT DISTINCT v.worker_group_id AS "workerGroupId"
    FROM deployments d JOIN environments v ON v.id = d.environment_id
    WHERE d.status = 'pending' AND d.check_expires_at <= to_timestamp(${now}::float8 / 1000)`);
  return rows.map((row) => row.workerGroupId);
}

/** Pending deployments whose last allowed check was not answered in its time; rows in other hands are left for later. */
export function lockUncheckedDeployments(
  tx: Tx,
  now: number,
  maxChecks: number,
): Promise<{ environmentId: string; id: string }[]> {
  return tx.query(sql`
    SELECT environment_id AS "environmentId", id FROM deployments
    WHERE status = 'pending' AND check_count >= ${maxChecks} AND check_expires_at <= to_timestamp(${now}::float8 / 1000)
    ORDER BY created_at LIMIT 100
    FOR UPDATE SKIP LOCKED`);
}
