import { encodeId, sessionOnFailureOf, whileBusyOf, type Actor, type Task } from "@keelson/contract";
import type { CachedDeployment, CachedEntrypoint } from "../../../core/entrypoints/deployment-cache.ts";
import type { EntrypointRow } from "../../../core/entrypoints/entrypoint-reads.ts";
import { toTimestamp } from "../../edge/time.ts";

/** The identity of a task or an actor with what the deployment declares of it. */
export const toTask = (
  row: EntrypointRow,
  deployment: CachedDeployment,
  entrypoint: CachedEntrypoint,
): Task => ({ id: encodeId("task", row.id), ...declared(row, deployment, entrypoint) });

export const toActor = (
  row: EntrypointRow,
  deployment: CachedDeployment,
  entrypoint: CachedEntrypoint,
): Actor => ({
  id: encodeId("actor", row.id),
  ...declared(row, deployment, entrypoint),
  session_on_failure: sessionOnFailureOf(entrypoint.declaration),
  while_busy: whileBusyOf(entrypoint.declaration),
});

const declared = (
  row: EntrypointRow,
  deployment: CachedDeployment,
  { declaration }: CachedEntrypoint,
): Omit<Task, "id"> => ({
  project_id: encodeId("proj", deployment.projectId),
  environment_id: encodeId("env", deployment.environmentId),
  declared_id: row.declaredId,
  deployment_id: encodeId("dep", deployment.id),
  description: declaration.description ?? null,
  payload_schema: declaration.payload_schema ?? null,
  queue: declaration.queue ?? null,
  retry: declaration.retry ?? null,
  max_duration: declaration.max_duration ?? null,
  ttl: declaration.ttl ?? null,
  sandbox: declaration.sandbox ?? null,
  execution: declaration.execution ?? "exclusive",
  memory_mb: declaration.memory_mb ?? null,
  isolation: declaration.isolation ?? "process",
  folders: declaration.folders ?? [],
  created_at: toTimestamp(row.createdAt),
});
