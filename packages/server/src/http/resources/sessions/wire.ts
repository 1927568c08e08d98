import { encodeId, type StatusReason } from "@keelson/contract";
import type { SessionRow } from "../../../core/sessions/session-reads.ts";
import { activityOf } from "../../../core/sessions/session.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

const text = JSON.stringify;

const lastFailureJson = ({ failedRunId, failureCode, failureMessage, failedAt }: SessionRow): string =>
  failedRunId === null || failedAt === null
    ? "null"
    : `{"run_id":"${encodeId("run", failedRunId)}","code":${text(failureCode)},"message":${text(failureMessage)},"at":"${toTimestamp(failedAt)}"}`;

/** A session as JSON text: its metadata goes out as it is stored. */
export const sessionJson = (session: SessionRow, statusReason: StatusReason | null): string =>
  `{"id":"${encodeId("sess", session.id)}","project_id":"${encodeId("proj", session.projectId)}"` +
  `,"environment_id":"${encodeId("env", session.environmentId)}","external_id":${text(session.externalId)}` +
  `,"task":${text(session.entrypointKind === "task" ? session.entrypoint : null)}` +
  `,"actor":${text(session.entrypointKind === "actor" ? session.entrypoint : null)}` +
  `,"status":"${session.status}","status_reason":${text(statusReason)},"activity":"${activityOf(session.runStatus)}"` +
  `,"current_run_id":"${encodeId("run", session.currentRunId)}","last_failure":${lastFailureJson(session)},"turn":${session.turn}` +
  `,"workspace_id":${text(session.workspaceId === null ? null : encodeId("ws", session.workspaceId))}` +
  `,"metadata":${session.metadata ?? "{}"},"tags":${text(session.tags ?? [])}` +
  `,"expires_at":${text(toTimestampOrNull(session.expiresAt))},"closed_at":${text(toTimestampOrNull(session.closedAt))}` +
  `,"close_reason":${text(session.closeReason)}` +
  `,"created_at":"${toTimestamp(session.createdAt)}","updated_at":"${toTimestamp(session.updatedAt)}"}`;
