import {
  encodeId,
  type Deployment,
  type DeploymentEvent,
  type DeploymentManifest,
  type Uuid,
} from "@keelson/contract";
import type { DeploymentError } from "../../../core/deployments/deployment.ts";
import type { DeploymentEventRow, DeploymentRow } from "../../../core/deployments/deployment-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export function toDeployment(row: DeploymentRow): Deployment {
  const manifest = JSON.parse(row.manifest) as DeploymentManifest;
  return {
    id: encodeId("dep", row.id),
    project_id: encodeId("proj", row.projectId),
    environment_id: encodeId("env", row.environmentId),
    version: row.version,
    status: row.status,
    is_current: row.isCurrent,
    promoted_at: toTimestampOrNull(row.promotedAt),
    api_version: row.apiVersion,
    cli_version: row.cliVersion,
    sdk_version: row.sdkVersion,
    client_version: row.clientVersion,
    bundle_format_version: row.bundleFormatVersion,
    worker_protocol_version: row.workerProtocolVersion,
    bundle: { digest: row.bundleDigest.toString("hex"), size_bytes: row.bundleSizeBytes },
    node_version: row.nodeVersion,
    platform: row.platform === null ? null : (JSON.parse(row.platform) as Deployment["platform"]),
    tasks: manifest.tasks,
    actors: manifest.actors ?? [],
    sandboxes: manifest.sandboxes ?? [],
    schedules: manifest.schedules ?? [],
    queues: manifest.queues ?? [],
    git: row.git === null ? null : (JSON.parse(row.git) as Deployment["git"]),
    error: row.error === null ? null : (JSON.parse(row.error) as DeploymentError),
    created_at: toTimestamp(row.createdAt),
    updated_at: toTimestamp(row.updatedAt),
  };
}

export const toDeploymentEvent = (deploymentId: Uuid<"dep">, row: DeploymentEventRow): DeploymentEvent => ({
  id: String(row.sequence),
  deployment_id: encodeId("dep", deploymentId),
  kind: row.kind,
  message: row.message,
  attributes: JSON.parse(row.attributes) as Record<string, unknown>,
  at: toTimestamp(row.at),
});
