import {
  encodeId,
  type Materialization,
  type Sandbox,
  type SandboxSpec,
  type Workspace,
  type WorkspaceVersion,
  type Uuid,
} from "@keelson/contract";
import type { SandboxRow } from "../../../core/sandboxes/sandbox-reads.ts";
import type { VersionNotes } from "../../../core/versions/version.ts";
import type { VersionRow } from "../../../core/versions/version-reads.ts";
import type { WorkspaceRow } from "../../../core/workspaces/workspace-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export function toWorkspace(row: WorkspaceRow, statusReason: Workspace["status_reason"] = null): Workspace {
  return {
    id: encodeId("ws", row.id),
    project_id: encodeId("proj", row.projectId),
    environment_id: encodeId("env", row.environmentId),
    external_id: row.externalId,
    sandbox: row.sandbox,
    status: row.status,
    current_version_id: encodeId("wsv", row.currentVersionId),
    materialization: toMaterialization(row, statusReason),
    status_reason: statusReason,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Workspace["metadata"]),
    tags: row.tags ?? [],
    last_activity_at: toTimestamp(row.lastActivityAt),
    created_at: toTimestamp(row.createdAt),
    updated_at: toTimestamp(row.updatedAt),
  };
}

/** One that no worker can take, as things are, has that as its error while it waits. */
function toMaterialization(row: WorkspaceRow, reason: Workspace["status_reason"]): Materialization | null {
  const { materializationId: id, materializationStatus: status, baseVersionId } = row;
  if (id === null || status === null || baseVersionId === null) return null;
  const unservable = reason !== null && reason.kind !== "worker_busy" ? reason.message : null;
  const message = row.error ?? unservable;
  return {
    id: encodeId("mat", id),
    status,
    isolation: row.isolation,
    worker_id: row.workerId === null ? null : encodeId("wkr", row.workerId),
    base_version_id: encodeId("wsv", baseVersionId),
    dirty: row.dirty ?? false,
    started_at: toTimestampOrNull(row.startedAt),
    error: message === null ? null : { message },
  };
}

const NO_NOTES: VersionNotes = { renamed: [], renamed_count: 0, left_out: [], left_out_count: 0 };

const toNotes = (text: string | null): VersionNotes =>
  text === null ? NO_NOTES : (JSON.parse(text) as VersionNotes);

export const toVersion = (row: VersionRow): WorkspaceVersion => ({
  id: encodeId("wsv", row.id),
  workspace_id: encodeId("ws", row.workspaceId),
  number: row.number,
  parent_version_id: row.parentVersionId === null ? null : encodeId("wsv", row.parentVersionId),
  status: "ready",
  cause: { kind: row.causeKind, id: row.causeId },
  digest: row.digest.toString("hex"),
  file_count: row.fileCount,
  size_bytes: row.sizeBytes,
  ...toNotes(row.notes),
  created_at: toTimestamp(row.createdAt),
});

export const toSandbox = (
  row: SandboxRow,
  place: { projectId: Uuid<"proj">; environmentId: Uuid<"env"> },
  deploymentId: Uuid<"dep"> | null,
  spec: SandboxSpec,
): Sandbox => ({
  id: encodeId("sbx", row.id),
  project_id: encodeId("proj", place.projectId),
  environment_id: encodeId("env", place.environmentId),
  declared_id: row.declaredId,
  deployment_id: deploymentId === null ? null : encodeId("dep", deploymentId),
  ...spec,
  created_at: toTimestamp(row.createdAt),
});
