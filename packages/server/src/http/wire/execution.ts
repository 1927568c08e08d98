import {
  BUNDLE_FORMAT_VERSION,
  encodeId,
  formatDuration,
  type Cancellation,
  type ExecutionMode,
} from "@keelson/contract";
import type { LeasedExecution } from "../../core/executions/claim-executions.ts";
import { wireRetry } from "./retry.ts";
import { toTimestamp } from "./time.ts";

/** What a worker must know of the code besides the run: from the deployment, which never changes. */
export type EntrypointFacts = { bundleDigest: string; execution: ExecutionMode; memoryMb: number | null };

const text = JSON.stringify;

/** A leased execution as JSON text: payload and metadata go out as they are stored. */
export const executionJson = (leased: LeasedExecution, facts: EntrypointFacts): string =>
  `{"lease_id":"${encodeId("lease", leased.leaseId)}","epoch":${leased.epoch},"expires_at":"${toTimestamp(leased.leaseExpiresAt)}"` +
  `,"bundle_digest":"${facts.bundleDigest}","bundle_format_version":${BUNDLE_FORMAT_VERSION}` +
  `,"entrypoint":{"kind":"${leased.entrypointKind}","declared_id":${text(leased.entrypoint)},"execution":"${facts.execution}"` +
  `,"memory_mb":${facts.memoryMb ?? "null"},"max_duration":${leased.maxDurationMs === null ? "null" : `"${formatDuration(leased.maxDurationMs)}"`}}` +
  `,"run":{"id":"${encodeId("run", leased.runId)}","project_id":"${encodeId("proj", leased.projectId)}"` +
  `,"environment_id":"${encodeId("env", leased.environmentId)}","task":${leased.entrypointKind === "task" ? text(leased.entrypoint) : "null"}` +
  `,"actor":${leased.entrypointKind === "actor" ? text(leased.entrypoint) : "null"},"attempt_number":${leased.attemptNumber}` +
  `,"max_attempts":${wireRetry(leased.retry).maxAttempts},"payload":${leased.payload ?? "null"}` +
  `,"metadata":${leased.metadata ?? "{}"},"tags":${leased.tags === null ? "[]" : text(leased.tags)},"queue":${text(leased.queue)}` +
  `,"created_at":"${toTimestamp(leased.createdAt)}","deployment_id":"${encodeId("dep", leased.deploymentId)}"` +
  `,"deployment_version":${text(leased.deploymentVersion)},"session_id":null,"turn":null,"parent_run_id":null,"schedule_id":null,"workspace_id":null}` +
  `,"secrets":{},"journal":[],"resolved_wait":null}`;

export const toCancellation = (row: { runId: string; leaseId: string; epoch: number }): Cancellation => ({
  run_id: encodeId("run", row.runId),
  lease_id: encodeId("lease", row.leaseId),
  epoch: row.epoch,
});
