import {
  BUNDLE_FORMAT_VERSION,
  encodeId,
  formatDuration,
  type Cancellation,
  type ExecutionMode,
  type IdPrefix,
} from "@keelson/contract";
import type { LeasedExecution } from "../../core/executions/claim-executions.ts";
import type { Replay, ReplayedSession } from "../../core/executions/read-replays.ts";
import { journalEntryJson, waitJson, type TokenSource } from "./durable.ts";
import { wireRetry } from "./retry.ts";
import { toTimestamp } from "./time.ts";

/** What a worker must know of the code besides the run: from the deployment, which never changes. */
export type EntrypointFacts = {
  bundleDigest: string;
  execution: ExecutionMode;
  memoryMb: number | null;
  /** Names of the secrets that it declares. */
  secrets: readonly string[];
};

const text = JSON.stringify;
const idOrNull = (prefix: IdPrefix, uuid: string | null): string =>
  uuid === null ? "null" : `"${encodeId(prefix, uuid)}"`;

/** A leased execution as JSON text: payload, metadata and journal go out as they are stored. */
export const executionJson = (
  leased: LeasedExecution,
  facts: EntrypointFacts,
  secrets: Record<string, string>,
  replay: Replay,
  server: TokenSource & { parkAfterMs: number },
): string =>
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
  `,"deployment_version":${text(leased.deploymentVersion)},"session_id":${idOrNull("sess", leased.sessionId)},"turn":${leased.turn ?? "null"}` +
  `,"parent_run_id":${idOrNull("run", leased.parentRunId)},"schedule_id":${idOrNull("sched", leased.scheduleId)},"workspace_id":${idOrNull("ws", leased.workspaceId)}}` +
  `,"secrets":${text(secrets)},"journal":[${replay.journal.map(({ entry, wait }) => journalEntryJson(entry, wait, server)).join(",")}]` +
  `,"waits":[${replay.waits.map(waitJson).join(",")}],"active":"${formatDuration(leased.activeMs)}"` +
  // A run that holds a slot of its queue gives it back when it is suspended, so it is not kept waiting in memory.
  `,"park_after":"${formatDuration(leased.limited ? 0 : server.parkAfterMs)}","session":${sessionJson(replay.session)}}`;

const sessionJson = (session: ReplayedSession | null): string =>
  session === null
    ? "null"
    : `{"id":"${encodeId("sess", session.id)}","external_id":${text(session.externalId)},"metadata":${session.metadata ?? "{}"}` +
      `,"tags":${text(session.tags ?? [])},"closed":${session.status !== "open"}}`;

export const toCancellation = (row: { runId: string; leaseId: string; epoch: number }): Cancellation => ({
  run_id: encodeId("run", row.runId),
  lease_id: encodeId("lease", row.leaseId),
  epoch: row.epoch,
});
