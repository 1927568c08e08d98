import { encodeId, formatDuration, type StatusReason } from "@keelson/contract";
import type { NewRun } from "../../core/runs/new-run.ts";
import type { PendingWaitRow, RunRow } from "../../core/runs/run-reads.ts";
import { wireRetry } from "./retry.ts";
import { toTimestamp, toTimestampOrNull } from "./time.ts";

/**
 * Runs as JSON text. Payload, output and metadata are stored as JSON text and go out as they are, without being parsed
 * and written again: with them a run is not an object that a serializer could take.
 */

const text = JSON.stringify;
const idOrNull = (prefix: Parameters<typeof encodeId>[0], uuid: string | null): string =>
  uuid === null ? "null" : `"${encodeId(prefix, uuid)}"`;
const timeOrNull = (ms: number | null): string => (ms === null ? "null" : `"${toTimestampOrNull(ms)}"`);
const textOrNull = (value: string | null): string => (value === null ? "null" : text(value));

function pendingWaitJson(row: string | null): string {
  if (row === null) return "null";
  const wait = JSON.parse(row) as PendingWaitRow;
  return (
    `{"id":"${encodeId("wait", wait.id)}","kind":"${wait.kind}","name":${text(wait.name)},"token_id":${idOrNull("tok", wait.tokenId)}` +
    `,"stream":${textOrNull(wait.stream)},"run_id":${idOrNull("run", wait.childRunId)},"timeout_at":${timeOrNull(wait.timeoutAtMs)}` +
    `,"created_at":"${toTimestamp(wait.createdAtMs)}"}`
  );
}

export function runJson(run: RunRow, statusReason: StatusReason | null): string {
  const retry = wireRetry(run.retry);
  return (
    `{"id":"${encodeId("run", run.id)}","project_id":"${encodeId("proj", run.projectId)}","environment_id":"${encodeId("env", run.environmentId)}"` +
    `,"task":${run.entrypointKind === "task" ? text(run.entrypoint) : "null"},"actor":${run.entrypointKind === "actor" ? text(run.entrypoint) : "null"}` +
    `,"session_id":${idOrNull("sess", run.sessionId)},"turn":${run.turn ?? "null"},"status":"${run.status}"` +
    `,"status_reason":${statusReason === null ? "null" : text(statusReason)},"attempt_number":${run.attemptNumber ?? "null"}` +
    `,"max_attempts":${retry.maxAttempts},"retry":${retry.json}` +
    `,"deployment_id":"${encodeId("dep", run.deploymentId)}","deployment_version":${text(run.deploymentVersion)}` +
    `,"workspace_id":${idOrNull("ws", run.workspaceId)},"payload":${run.payload ?? "null"},"output":${run.output ?? "null"}` +
    `,"failure":${run.failure ?? "null"},"pending_wait":${pendingWaitJson(run.pendingWait)},"queue":${text(run.queue)},"concurrency_key":${textOrNull(run.concurrencyKey)}` +
    `,"priority":${run.priority},"max_duration":${run.maxDurationMs === null ? "null" : `"${formatDuration(run.maxDurationMs)}"`}` +
    `,"metadata":${run.metadata ?? "{}"},"tags":${run.tags === null ? "[]" : text(run.tags)}` +
    `,"schedule_id":${idOrNull("sched", run.scheduleId)},"parent_run_id":${idOrNull("run", run.parentRunId)}` +
    `,"client_version":${textOrNull(run.clientVersion)},"cli_version":${textOrNull(run.cliVersion)},"sdk_version":${textOrNull(run.sdkVersion)}` +
    `,"start_at":${timeOrNull(run.startAt)},"started_at":${timeOrNull(run.startedAt)},"finished_at":${timeOrNull(run.finishedAt)}` +
    `,"expires_at":${timeOrNull(run.expiresAt)},"created_at":"${toTimestamp(run.createdAt)}","updated_at":"${toTimestamp(run.updatedAt)}"}`
  );
}

/** The run as it was created: what a start answers, now and when it is repeated with its idempotency key. */
export const createdRunJson = (run: RunRow): string =>
  runJson(
    {
      ...run,
      status: "queued",
      attemptNumber: null,
      output: null,
      failure: null,
      startedAt: null,
      finishedAt: null,
      updatedAt: run.createdAt,
      pendingWait: null,
    },
    null,
  );

/** The same from the values of the insert, without reading the row back. */
export const newRunJson = (run: NewRun): string =>
  createdRunJson({
    id: run.id,
    environmentId: run.environmentId,
    projectId: run.projectId,
    entrypointKind: run.entrypointKind,
    entrypoint: run.entrypoint,
    deploymentId: run.deploymentId,
    deploymentVersion: run.deploymentVersion,
    payload: run.payload,
    metadata: run.metadata,
    tags: run.tags,
    queue: run.queue,
    concurrencyKey: run.concurrencyKey,
    priority: run.priority,
    retry: run.retryText,
    maxDurationMs: run.maxDurationMs,
    startAt: run.startAt,
    expiresAt: run.expiresAt,
    ...run.links,
    clientVersion: run.clientVersion,
    cliVersion: run.cliVersion,
    sdkVersion: run.sdkVersion,
    createdAt: run.createdAt,
    status: "queued",
    attemptNumber: null,
    output: null,
    failure: null,
    startedAt: null,
    finishedAt: null,
    updatedAt: run.createdAt,
    pendingWait: null,
  });
