import type { DeploymentEventKind, DeploymentStatus, Uuid } from "@keelson/contract";
import { firstOf, isBefore, NEWEST_FIRST } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";

/** A deployment and whether its environment points at it. JSON is text, times are milliseconds. */
export type DeploymentRow = {
  id: Uuid<"dep">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
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
  nodeVersion: string | null;
  platform: string | null;
  manifest: string;
  git: string | null;
  error: string | null;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(`
  d.id, d.environment_id, d.project_id, d.version, d.status,
  v.current_deployment_id IS NOT DISTINCT FROM d.id AS is_current, d.promoted_at, d.api_version,
  d.cli_version, d.sdk_version, d.client_version,
  d.bundle_format_version, d.worker_protocol_version,
  d.bundle_digest, d.bundle_size_bytes,
  d.node_version, d.platform, d.manifest, d.git, d.error,
  d.created_at, d.updated_at`);

const JOINED = rawSql("deployments d JOIN environments v ON v.id = d.environment_id");

export async function findDeployment(
  db: Queryable,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
): Promise<DeploymentRow | null> {
  const [row] = await db.query<DeploymentRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED} WHERE d.environment_id = ${environmentId} AND d.id = ${deploymentId}`);
  return row ?? null;
}

export async function findCurrentDeployment(
  db: Queryable,
  environmentId: Uuid<"env">,
): Promise<DeploymentRow | null> {
  const [row] = await db.query<DeploymentRow>(sql`
    SELECT ${COLUMNS} FROM ${JOINED} WHERE d.environment_id = ${environmentId} AND d.id = v.current_deployment_id`);
  return row ?? null;
}

/** Newest first, after the deployment `before`. Ids are UUIDv7, so the key is the order of creation. */
export function listDeployments(
  db: Queryable,
  environmentId: Uuid<"env">,
  statuses: readonly DeploymentStatus[],
  before: string | null,
  limit: number,
): Promise<DeploymentRow[]> {
  const ids = (more: Sql): Sql => sql`
    SELECT id FROM deployments
    WHERE environment_id = ${environmentId} AND ${isBefore(sql`id`, before)}${more} ORDER BY id DESC LIMIT ${limit}`;
  // Each status is found by the index in the list's order.
  const branches = [...new Set(statuses)].map((status) => ids(sql` AND status = ${status}`));
  const page = branches.length === 0 ? ids(sql``) : firstOf(branches, NEWEST_FIRST, limit);
  return db.query<DeploymentRow>(sql`
    SELECT ${COLUMNS} FROM (${page}) page, ${JOINED}
    WHERE d.environment_id = ${environmentId} AND d.id = page.id ORDER BY page.id DESC`);
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
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
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
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
): Promise<DeploymentStatus | null> {
  const [row] = await db.query<{ status: DeploymentStatus }>(sql`
    SELECT status FROM deployments WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
  return row?.status ?? null;
}

export type LockedDeployment = {
  projectId: Uuid<"proj">;
  status: DeploymentStatus;
  version: string;
  manifest: string;
};

export async function lockDeployment(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
): Promise<LockedDeployment | null> {
  const [row] = await tx.query<LockedDeployment>(sql`
    SELECT project_id, status, version, manifest FROM deployments
    WHERE environment_id = ${environmentId} AND id = ${deploymentId} FOR NO KEY UPDATE`);
  return row ?? null;
}

/**
 * The environment's pointer, under the lock that makes promotions follow one another. Weaker than FOR UPDATE, so that rows
 * that refer to the environment can be inserted meanwhile.
 */
export async function lockCurrentDeployment(
  tx: Tx,
  environmentId: Uuid<"env">,
): Promise<{ currentDeploymentId: Uuid<"dep"> | null; workerGroupId: Uuid<"wgrp"> } | null> {
  const [row] = await tx.query<{ currentDeploymentId: Uuid<"dep"> | null; workerGroupId: Uuid<"wgrp"> }>(sql`
    SELECT current_deployment_id, worker_group_id
    FROM environments WHERE id = ${environmentId} FOR NO KEY UPDATE`);
  return row ?? null;
}

export type CheckedDeployment = {
  environmentId: Uuid<"env">;
  status: DeploymentStatus;
  manifest: string;
  checkId: string | null;
  checkWorkerId: Uuid<"wkr"> | null;
  /** A worker is at it, as far as is known. */
  checkIsHeld: boolean;
  checkInterruptions: number;
};

/**
 * A deployment by its id alone, among the environments that the worker's group serves. The tenant is found through the
 * group, so that the key's leading column is known and no other group's deployment can be named.
 */
export async function lockCheckedDeployment(
  tx: Tx,
  workerGroupId: Uuid<"wgrp">,
  deploymentId: Uuid<"dep">,
): Promise<CheckedDeployment | null> {
  const [row] = await tx.query<CheckedDeployment>(sql`
    SELECT d.environment_id, d.status, d.manifest, d.check_id, d.check_worker_id,
      d.check_is_held, d.check_interruptions
    FROM environments v JOIN deployments d ON d.environment_id = v.id
    WHERE v.worker_group_id = ${workerGroupId} AND d.id = ${deploymentId}
    FOR NO KEY UPDATE OF d`);
  return row ?? null;
}

/** Worker groups with a deployment whose worker fell silent, or whose check is to be made again. */
export async function listGroupsWithExpiredChecks(db: Queryable, now: number): Promise<Uuid<"wgrp">[]> {
  const rows = await db.query<{ workerGroupId: Uuid<"wgrp"> }>(sql`
    SELECT DISTINCT v.worker_group_id
    FROM deployments d JOIN environments v ON v.id = d.environment_id
    WHERE d.status = 'pending' AND d.check_expires_at <= ${timestamp(now)}`);
  return rows.map((row) => row.workerGroupId);
}

export type SilentCheck = { environmentId: Uuid<"env">; id: Uuid<"dep">; checkInterruptions: number };

/** Pending deployments whose check is held by a worker that was not heard of in time; rows in other hands are left for later. */
export function lockSilentChecks(tx: Tx, now: number, limit: number): Promise<SilentCheck[]> {
  return tx.query<SilentCheck>(sql`
    SELECT d.environment_id, d.id, d.check_interruptions FROM deployments d
    WHERE d.status = 'pending' AND d.check_is_held AND d.check_expires_at <= ${timestamp(now)}
      AND ${isNotSetAside("offer-expired-checks", sql`d.environment_id`, sql`d.id`, now)}
    ORDER BY d.created_at LIMIT ${limit}
    FOR UPDATE SKIP LOCKED`);
}
