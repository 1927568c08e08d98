import type { Uuid } from "@keelson/contract";
import { CLOCK_LEAD_MS } from "../../clock.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { claimerOf } from "../workers/claimer-reads.ts";
import {
  CHECK_DURATION_MS,
  LONGEST_DELAY_MS,
  type DecidedDeploymentEvent,
  type DeploymentError,
} from "./deployment.ts";

/** Counts one more deployment of the environment. The row's lock makes creations follow one another. */
export async function countDeployment(tx: Tx, environmentId: Uuid<"env">): Promise<number> {
  const [row] = await tx.query<{ count: number }>(sql`
    UPDATE environments SET deployment_count = deployment_count + 1 WHERE id = ${environmentId}
    RETURNING deployment_count AS count`);
  if (row === undefined) throw new Error("The environment of an authenticated caller is gone.");
  return row.count;
}

export type DeploymentInsert = {
  environmentId: Uuid<"env">;
  id: Uuid<"dep">;
  projectId: Uuid<"proj">;
  version: string;
  apiVersion: string;
  cliVersion: string | null;
  sdkVersion: string | null;
  clientVersion: string | null;
  bundleFormatVersion: number;
  workerProtocolVersion: number;
  bundleDigest: Buffer;
  bundleSizeBytes: number;
  nodeVersion: string | null;
  /** What a worker must meet to run it; null: any worker can. */
  requirement: string | null;
  /** JSON text; why it cannot be checked yet. */
  error: string | null;
  /** JSON text. */
  platform: string | null;
  /** JSON text. */
  manifest: string;
  git: string | null;
  createdAt: number;
};

export async function insertDeployment(tx: Tx, row: DeploymentInsert): Promise<void> {
  await tx.query(sql`
    INSERT INTO deployments (environment_id, id, project_id, version, status, api_version, cli_version, sdk_version, client_version,
      bundle_format_version, worker_protocol_version, bundle_digest, bundle_size_bytes, node_version, platform, requirement, error, manifest, git,
      created_at, updated_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.projectId}, ${row.version}, 'pending', ${row.apiVersion}, ${row.cliVersion},
      ${row.sdkVersion}, ${row.clientVersion}, ${row.bundleFormatVersion}, ${row.workerProtocolVersion}, ${row.bundleDigest},
      ${row.bundleSizeBytes}, ${row.nodeVersion}, ${row.platform}, ${row.requirement}, ${row.error}, ${row.manifest}, ${row.git}, ${timestamp(row.createdAt)},
      ${timestamp(row.createdAt)})`);
}

/** Appends an event under the deployment's own counter, which this statement's row lock advances. */
export async function appendDeploymentEvent(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
  event: DecidedDeploymentEvent,
  at: number,
): Promise<void> {
  await tx.query(sql`
    WITH counted AS (
      UPDATE deployments SET event_sequence = event_sequence + 1
      WHERE environment_id = ${environmentId} AND id = ${deploymentId} RETURNING event_sequence
    )
    INSERT INTO deployment_events (environment_id, deployment_id, sequence, kind, message, attributes, at)
    SELECT ${environmentId}::uuid, ${deploymentId}::uuid, event_sequence, ${event.kind}::text, ${event.message}::text,
      ${JSON.stringify(event.attributes ?? {})}::json, ${timestamp(at)}
    FROM counted`);
  tx.wake(wakeKeys.deployment(deploymentId));
}

export async function markDeploymentReady(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
  at: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE deployments SET status = 'ready', error = NULL, check_is_held = false, check_expires_at = NULL, updated_at = ${timestamp(at)}
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}

/** The deployment stays pending, says why, and is offered again from `againAt` on. */
export async function markCheckInterrupted(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
  error: DeploymentError,
  againAt: number,
  at: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE deployments SET error = ${JSON.stringify(error)}, check_expires_at = ${timestamp(againAt)},
      check_is_held = false, check_interruptions = check_interruptions + 1, updated_at = ${timestamp(at)}
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}

export async function markDeploymentFailed(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
  error: DeploymentError,
  at: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE deployments SET status = 'failed', error = ${JSON.stringify(error)}, check_is_held = false, check_expires_at = NULL,
      updated_at = ${timestamp(at)}
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}

/** Points the environment at the deployment. */
export async function markDeploymentPromoted(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
  at: number,
): Promise<void> {
  await tx.query(sql`
    WITH pointer AS (
      UPDATE environments SET current_deployment_id = ${deploymentId} WHERE id = ${environmentId}
    )
    UPDATE deployments SET promoted_at = ${timestamp(at)}, updated_at = ${timestamp(at)}
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}

/** It was current until now: how long it is kept is counted from here. */
export async function markDeploymentDemoted(
  tx: Tx,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
  at: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE deployments SET updated_at = ${timestamp(at)}
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}

/** From here on workers are compared with it. */
export async function noteRequirement(tx: Tx, requirement: string): Promise<void> {
  await tx.query(sql`INSERT INTO requirements (requirement) VALUES (${requirement}) ON CONFLICT DO NOTHING`);
}

export type CheckLease = {
  workerId: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  meets: readonly string[];
  /** Ids of the checks that the worker says it is at; null: it does not say. */
  held: readonly string[] | null;
  /** Whether it may be given checks besides those that it has. */
  mayTakeMore: boolean;
  now: number;
  limit: number;
};

export type LeasedCheck = {
  id: Uuid<"dep">;
  environmentId: Uuid<"env">;
  checkId: string;
  bundleDigest: Buffer;
  bundleFormatVersion: number;
};

/**
 * Oldest first; rows that another worker is being given are skipped. A check that the worker was given and does not know of,
 * because the answer was lost, is given again under its id.
 */
export const claimChecks = (
  db: Queryable,
  { workerId, workerGroupId, meets, held, mayTakeMore, now, limit }: CheckLease,
): Promise<LeasedCheck[]> =>
  db.query<LeasedCheck>(sql`
    WITH free AS (
      SELECT p.environment_id, p.id
      FROM deployments p JOIN environments v ON v.id = p.environment_id
      WHERE p.status = 'pending' AND v.worker_group_id = ${workerGroupId}
        AND CASE WHEN p.check_is_held
          THEN p.check_worker_id = ${workerId} AND NOT p.check_id::text = ANY(${held}::text[])
          ELSE ${mayTakeMore}::boolean AND (p.check_expires_at IS NULL OR p.check_expires_at <= ${timestamp(now)}) END
        AND (p.requirement IS NULL OR p.requirement = ANY(${meets}::text[]))
      ORDER BY p.created_at LIMIT ${limit}
      FOR UPDATE OF p SKIP LOCKED
    ), claimer AS (${claimerOf(workerId, sql`free`)})
    UPDATE deployments d
    SET check_id = CASE WHEN d.check_is_held THEN d.check_id ELSE gen_random_uuid() END, check_is_held = true,
      check_worker_id = ${workerId}, check_expires_at = ${timestamp(now + CHECK_DURATION_MS)}
    FROM free
    WHERE d.environment_id = free.environment_id AND d.id = free.id
      AND (d.check_is_held OR EXISTS (SELECT FROM claimer))
    RETURNING d.id, d.environment_id, d.check_id, d.bundle_digest, d.bundle_format_version`);

/** The worker says that it is at these checks: it is not silent about those that are its own still. */
export async function renewChecks(
  db: Queryable,
  { workerId, workerGroupId, held, now }: Pick<CheckLease, "workerId" | "workerGroupId" | "held" | "now">,
): Promise<void> {
  await db.query(sql`
    UPDATE deployments d SET check_expires_at = ${timestamp(now + CHECK_DURATION_MS)}
    FROM environments v
    WHERE v.worker_group_id = ${workerGroupId} AND d.environment_id = v.id AND d.status = 'pending'
      AND d.check_is_held AND d.check_worker_id = ${workerId} AND d.check_id::text = ANY(${held}::text[])`);
}

/** Checks that are to be made, or are over, at a time which a clock that was ahead has set. */
export async function setChecksBack(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    UPDATE deployments SET check_expires_at = ${timestamp(now)}
    WHERE status = 'pending' AND check_expires_at > ${timestamp(now + LONGEST_DELAY_MS + CLOCK_LEAD_MS)}`);
}
