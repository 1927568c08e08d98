import {
  encodeId,
  formatDuration,
  type Cancellation,
  type DeploymentCheck,
  type ExecutionMode,
  type IdPrefix,
  type InterruptedMessage,
  type Isolation,
  type TaskFolder,
  type Uuid,
} from "@keelson/contract";
import type { LeasedCheck } from "../../../core/deployments/lease-checks.ts";
import type { RunTokens } from "../../../core/credentials/run-token.ts";
import type { LeasedExecution } from "../../../core/executions/execution.ts";
import type { SecretSet } from "../../../core/secrets/resolve-secrets.ts";
import type { Interrupt } from "../../../core/leases/requested-end-reads.ts";
import type { Replay } from "../../../core/leases/read-replays.ts";
import type { ReplayedSession } from "../../../core/leases/replay-reads.ts";
import { journalEntryJson, waitJson, type TokenSource } from "./durable-wire.ts";
import { wireRetry } from "../../resources/runs/retry-wire.ts";
import { createTimestamps, toTimestamp } from "../../edge/time.ts";

/** What a worker must know of the code besides the run: from the deployment, which never changes. */
export type EntrypointFacts = {
  bundleDigest: string;
  bundleFormatVersion: number;
  execution: ExecutionMode;
  memoryMb: number | null;
  isolation: Isolation;
  folders: readonly TaskFolder[];
  /** Names of the secrets that it declares. */
  secrets: readonly string[];
};

const text = JSON.stringify;
const idOrNull = (prefix: IdPrefix, uuid: string | null): string =>
  uuid === null ? "null" : `"${encodeId(prefix, uuid)}"`;

/** What the executions of one entrypoint of one deployment have in common, as members of JSON objects. */
export type EntrypointTexts = { bundle: string; entrypoint: string; run: string };

export const entrypointTexts = (
  leased: Pick<
    LeasedExecution,
    "entrypointKind" | "entrypoint" | "projectId" | "environmentId" | "deploymentId" | "deploymentVersion"
  >,
  facts: EntrypointFacts,
): EntrypointTexts => {
  const declaredId = text(leased.entrypoint);
  const [task, actor] = leased.entrypointKind === "task" ? [declaredId, "null"] : ["null", declaredId];
  return {
    bundle: `"bundle_digest":"${facts.bundleDigest}","bundle_format_version":${facts.bundleFormatVersion}`,
    entrypoint:
      `"kind":"${leased.entrypointKind}","declared_id":${declaredId},"execution":"${facts.execution}"` +
      `,"memory_mb":${facts.memoryMb ?? "null"}${isolationJson(facts)}`,
    run:
      `"project_id":"${encodeId("proj", leased.projectId)}","environment_id":"${encodeId("env", leased.environmentId)}"` +
      `,"task":${task},"actor":${actor},"deployment_id":"${encodeId("dep", leased.deploymentId)}"` +
      `,"deployment_version":${text(leased.deploymentVersion)}`,
  };
};

/** A leased execution as JSON text: payload, metadata and journal go out as they are stored. */
export const executionJson = (
  leased: LeasedExecution,
  texts: EntrypointTexts,
  secrets: SecretSet | null,
  replay: Replay,
  server: TokenSource & { parkAfterMs: number; runTokens: RunTokens },
): string =>
  `{"lease_id":"${encodeId("lease", leased.leaseId)}","epoch":${leased.epoch},"expires_at":"${toExpiry(leased.leaseExpiresAt)}",${texts.bundle}` +
  `,"entrypoint":{${texts.entrypoint},"max_duration":${leased.maxDurationMs === null ? "null" : `"${formatDuration(leased.maxDurationMs)}"`}}` +
  `,"run":{"id":"${encodeId("run", leased.runId)}",${texts.run},"attempt_number":${leased.attemptNumber - leased.attemptsBefore}` +
  `,"max_attempts":${wireRetry(leased.retry).maxAttempts},"continuations":${leased.continuations}` +
  `,"payload":${(replay.continued ?? leased).payload ?? "null"}` +
  `,"metadata":${leased.metadata ?? "{}"},"tags":${leased.tags === null ? "[]" : text(leased.tags)},"queue":${text(leased.queue)}` +
  `,"created_at":"${toTimestamp(leased.createdAt)}","session_id":${idOrNull("sess", leased.sessionId)},"turn":${leased.turn ?? "null"}` +
  `,"parent_run_id":${idOrNull("run", leased.parentRunId)},"schedule_id":${idOrNull("sched", leased.scheduleId)},"workspace_id":${idOrNull("ws", leased.workspaceId)}}` +
  `,${secrets === null ? NO_SECRETS : secretsJson(secrets)},"run_token":"${server.runTokens.make(leased)}"` +
  `,"journal":[${replay.journal.map(({ entry, wait }) => journalEntryJson(entry, wait, server)).join(",")}]` +
  `,"waits":[${replay.waits.map(waitJson).join(",")}],"active":"${formatDuration(leased.activeMs)}"` +
  // A run that holds a slot of its queue gives it back when it is suspended, so it is not kept waiting in memory.
  `,"park_after":"${formatDuration(leased.limited ? 0 : server.parkAfterMs)}","session":${sessionJson(replay.session)}}`;

/** The leases of one claim run out at one time. */
const toExpiry = createTimestamps();

const NO_SECRETS = `"secrets":{},"secret_versions":{}`;
const secretsJson = (secrets: SecretSet): string =>
  `"secrets":${text(secrets.values)},"secret_versions":${versionsJson(secrets)}`;

/** Most tasks run in the process tier, and pay no bytes for the other one. */
const isolationJson = ({ isolation, folders }: EntrypointFacts): string =>
  isolation === "process" ? "" : `,"isolation":"${isolation}","folders":${text(folders)}`;

const versionsJson = ({ versions }: SecretSet): string =>
  text(
    Object.fromEntries(
      Object.entries(versions).map(([name, { secretId, version }]) => [
        name,
        { id: encodeId("sec", secretId), version },
      ]),
    ),
  );

const sessionJson = (session: ReplayedSession | null): string =>
  session === null
    ? "null"
    : `{"id":"${encodeId("sess", session.id)}","external_id":${text(session.externalId)},"metadata":${session.metadata ?? "{}"}` +
      `,"tags":${text(session.tags ?? [])},"closed":${session.status !== "open"}}`;

export const toInterrupt = ({ runId, leaseId, epoch, messageId }: Interrupt): InterruptedMessage => ({
  run_id: encodeId("run", runId),
  lease_id: encodeId("lease", leaseId),
  epoch,
  message_id: encodeId("msg", messageId),
});

export const toCancellation = (row: {
  runId: Uuid<"run">;
  leaseId: Uuid<"lease">;
  epoch: number;
}): Cancellation => ({
  run_id: encodeId("run", row.runId),
  lease_id: encodeId("lease", row.leaseId),
  epoch: row.epoch,
});

export const toDeploymentCheck = (check: LeasedCheck): DeploymentCheck => ({
  deployment_id: encodeId("dep", check.id),
  environment_id: encodeId("env", check.environmentId),
  check_id: check.checkId,
  bundle_digest: check.bundleDigest.toString("hex"),
  bundle_format_version: check.bundleFormatVersion,
});
