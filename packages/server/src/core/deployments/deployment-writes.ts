import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { DecidedDeploymentEvent, DeploymentError } from "./deployment.ts";

/** Counts one more deployment of the environment. The row's lock makes creations follow one another. */
export async function countDeployment(tx: Tx, environmentId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(sql`
    UPDATE environments SET deployment_count = deployment_count + 1 WHERE id = ${environmentId}
    RETURNING deployment_count AS count`);
  if (row === undefined) throw new Error("The environment of an authenticated caller is gone.");
  return row.count;
}

export type DeploymentInsert = {
  environmentId: string;
  id: string;
  projectId: string;
  version: string;
  apiVersion: string;
  cliVersion: string | null;
  sdkVersion: string | null;
  clientVersion: string | null;
  bundleFormatVersion: number;
  workerProtocolVersion: number;
  bundleDigest: Buffer;
  bundleSizeBytes: number;
  /** JSON text. */
  manifest: string;
  git: string | null;
  createdAt: number;
};

export async function insertDeployment(tx: Tx, row: DeploymentInsert): Promise<void> {
  await tx.query(sql`
    INSERT INTO deployments (environment_id, id, project_id, version, status, api_version, cli_version, sdk_version, client_version,
      bundle_format_version, worker_protocol_version, bundle_digest, bundle_size_bytes, manifest, git, created_at, updated_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.projectId}, ${row.version}, 'pending', ${row.apiVersion}, ${row.cliVersion},
      ${row.sdkVersion}, ${row.clientVersion}, ${row.bundleFormatVersion}, ${row.workerProtocolVersion}, ${row.bundleDigest},
      ${row.bundleSizeBytes}, ${row.manifest}, ${row.git}, to_timestamp(${row.createdAt}::float8 / 1000),
      to_timestamp(${row.createdAt}::float8 / 1000))`);
}

/** Appends an event under the deployment's own counter, which this statement's row lock advances. */
export async function appendDeploymentEvent(
  tx: Tx,
  environmentId: string,
  deploymentId: string,
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
      ${JSON.stringify(event.attributes ?? {})}::json, to_timestamp(${at}::float8 / 1000)
    FROM counted`);
}

export async function markDeploymentReady(
  tx: Tx,
  environmentId: string,
  deploymentId: string,
  at: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE deployments SET status = 'ready', check_expires_at = NULL, updated_at = to_timestamp(${at}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}

export async function markDeploymentFailed(
  tx: Tx,
  environmentId: string,
  deploymentId: string,
  error: DeploymentError,
  at: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE deployments SET status = 'failed', error = ${JSON.stringify(error)}, check_expires_at = NULL,
      updated_at = to_timestamp(${at}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}

/** Points the environment at the deployment. */
export async function markDeploymentPromoted(
  tx: Tx,
  environmentId: string,
  deploymentId: string,
  at: number,
): Promise<void> {
  await tx.query(sql`
    WITH pointer AS (
      UPDATE environments SET current_deployment_id = ${deploymentId} WHERE id = ${environmentId}
    )
    UPDATE deployments SET promoted_at = to_timestamp(${at}::float8 / 1000), updated_at = to_timestamp(${at}::float8 / 1000)
    WHERE environment_id = ${environmentId} AND id = ${deploymentId}`);
}
