import { encodeId, formatDuration, type IdPrefix, type StatusReason, type Uuid } from "@keelson/contract";
import { isAlike, isPlain, type NewRun } from "../../../core/runs/new-run.ts";
import type { PendingWaitRow, RunRow } from "../../../core/runs/run-reads.ts";
import { wireRetry } from "./retry-wire.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

/**
 * Runs as JSON text. Payload, output and metadata are stored as JSON text and go out as they are, without being parsed
 * and written again: with them a run is not an object that a serializer could take.
 */

const text = JSON.stringify;
const idOrNull = <Prefix extends IdPrefix>(prefix: Prefix, uuid: Uuid<Prefix> | null): string =>
  uuid === null ? "null" : `"${encodeId<Prefix, string>(prefix, uuid)}"`;
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

/** What a run was asked to be, up to its payload. */
function askedJson(run: RunRow, statusReason: StatusReason | null): string {
  const retry = wireRetry(run.retry);
  return (
    `,"project_id":"${encodeId("proj", run.projectId)}","environment_id":"${encodeId("env", run.environmentId)}"` +
    `,"task":${run.entrypointKind === "task" ? text(run.entrypoint) : "null"},"actor":${run.entrypointKind === "actor" ? text(run.entrypoint) : "null"}` +
    `,"session_id":${idOrNull("sess", run.sessionId)},"turn":${run.turn ?? "null"},"status":"${run.status}"` +
    `,"status_reason":${statusReason === null ? "null" : text(statusReason)},"attempt_number":${run.attemptNumber ?? "null"}` +
    `,"max_attempts":${retry.maxAttempts},"retry":${retry.json}` +
    `,"deployment_id":"${encodeId("dep", run.deploymentId)}","deployment_version":${text(run.deploymentVersion)}` +
    `,"workspace_id":${idOrNull("ws", run.workspaceId)},"payload":`
  );
}

/** What comes after its payload, up to the times that every run has. */
function becameJson(run: RunRow): string {
  return (
    `,"continuations":${run.continuations},"continued_payload":${run.continuedPayload ?? "null"},"output":${run.output ?? "null"}` +
    `,"failure":${run.failure ?? "null"},"error_group_id":${idOrNull("err", run.errorGroupId)},"pending_wait":${pendingWaitJson(run.pendingWait)},"queue":${text(run.queue)},"concurrency_key":${textOrNull(run.concurrencyKey)}` +
    `,"priority":${run.priority},"max_duration":${run.maxDurationMs === null ? "null" : `"${formatDuration(run.maxDurationMs)}"`}` +
    `,"metadata":${run.metadata ?? "{}"},"tags":${run.tags === null ? "[]" : text(run.tags)}` +
    `,"schedule_id":${idOrNull("sched", run.scheduleId)},"parent_run_id":${idOrNull("run", run.parentRunId)}` +
    `,"client_version":${textOrNull(run.clientVersion)},"cli_version":${textOrNull(run.cliVersion)},"sdk_version":${textOrNull(run.sdkVersion)}` +
    `,"start_at":${timeOrNull(run.startAt)},"started_at":${timeOrNull(run.startedAt)},"finished_at":${timeOrNull(run.finishedAt)}` +
    `,"expires_at":${timeOrNull(run.expiresAt)}`
  );
}

const idJson = (id: Uuid<"run">): string => `{"id":"${encodeId("run", id)}"`;
const timesJson = (createdAt: string, updatedAt: string): string =>
  `,"created_at":"${createdAt}","updated_at":"${updatedAt}"}`;

export const runJson = (run: RunRow, statusReason: StatusReason | null): string =>
  idJson(run.id) +
  askedJson(run, statusReason) +
  (run.payload ?? "null") +
  becameJson(run) +
  timesJson(toTimestamp(run.createdAt), toTimestamp(run.updatedAt));

/** The run as it was created: what a start answers, now and when it is repeated with its idempotency key. */
export const createdRunJson = (run: RunRow): string =>
  runJson(
    {
      ...run,
      continuations: 0,
      continuedPayload: null,
      status: "queued",
      attemptNumber: null,
      output: null,
      failure: null,
      errorGroupId: null,
      startedAt: null,
      finishedAt: null,
      updatedAt: run.createdAt,
      pendingWait: null,
    },
    null,
  );

/** As it is before anything has happened to it. */
const toCreatedRow = (run: NewRun): RunRow => ({
  id: run.id,
  environmentId: run.environmentId,
  projectId: run.projectId,
  entrypointKind: run.entrypointKind,
  entrypoint: run.entrypoint,
  deploymentId: run.deploymentId,
  deploymentVersion: run.deploymentVersion,
  payload: run.payload,
  continuations: 0,
  continuedPayload: null,
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
  errorGroupId: null,
  startedAt: null,
  finishedAt: null,
  updatedAt: run.createdAt,
  pendingWait: null,
});

/** The same text in one piece: the engine keeps a concatenation as a tree, and would walk it for each run. */
const flat = (json: string): string => Buffer.from(json).toString();

type SharedJson = { model: NewRun; asked: string; became: string };

/** By the policy, of which each declared task has one. */
const sharedJsons = new WeakMap<NewRun["retry"], SharedJson>();

/** Nearly all starts of a task differ by id, payload and time alone: the rest of their JSON is written once. */
function sharedJsonOf(run: NewRun): SharedJson {
  const known = sharedJsons.get(run.retry);
  if (known !== undefined && isAlike(known.model, run)) return known;
  const row = toCreatedRow(run);
  const shared = {
    model: { ...run, payload: null },
    asked: flat(askedJson(row, null)),
    became: flat(becameJson(row)),
  };
  sharedJsons.set(run.retry, shared);
  return shared;
}

/** The same from the values of the insert, without reading the row back. */
export function newRunJson(run: NewRun): string {
  if (!isPlain(run)) return runJson(toCreatedRow(run), null);
  const { asked, became } = sharedJsonOf(run);
  const createdAt = toTimestamp(run.createdAt);
  return idJson(run.id) + asked + (run.payload ?? "null") + became + timesJson(createdAt, createdAt);
}
