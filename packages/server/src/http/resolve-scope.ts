import { decodeId, type Permission } from "@keelson/contract";
import { roleHolds, type Principal } from "../core/credentials/principal.ts";
import { findUserEnvironment } from "../core/credentials/principal-reads.ts";
import type { Database } from "../db/pool.ts";
import { DomainError, invalidRequest, notFound } from "../domain-error.ts";
import type { EnvironmentScope, Route, WorkerScope } from "./route.ts";

export type Scope = EnvironmentScope | WorkerScope | { userId: string; isAdmin: boolean } | null;

export type Selection = { projectId: string | null; environmentId: string | null } | null;

/** Where a caller acts. An API key is bound to its environment; a user names one with every request. */
export function createScopeResolver(db: Database) {
  return (
    route: Route,
    principal: Principal | null,
    selection: Selection,
    forbidden: (permission: Permission) => DomainError,
  ): Scope | Promise<Scope> => {
    if (principal === null) return null;
    switch (principal.kind) {
      case "api_key":
        return apiKeyScope(principal, selection);
      case "user":
        if (route.access.kind !== "environment") return { userId: principal.id, isAdmin: principal.isAdmin };
        return userScope(db, principal.id, selection, route.access.permission, forbidden);
      case "worker":
        return { workerId: principal.workerId, workerGroupId: principal.workerGroupId };
      case "admin":
      case "capacity":
        return null;
    }
  };
}

function apiKeyScope(
  principal: Extract<Principal, { kind: "api_key" }>,
  selection: Selection,
): EnvironmentScope {
  const { organizationId, projectId, environmentId, workerGroupId } = principal;
  const elsewhere =
    (selection?.projectId !== null &&
      selection !== null &&
      decodeId("proj", selection.projectId) !== projectId) ||
    (selection?.environmentId !== null &&
      selection !== null &&
      decodeId("env", selection.environmentId) !== environmentId);
  if (elsewhere) {
    throw new DomainError(
      "forbidden",
      "This API key is bound to another environment. Leave project_id and environment_id out, or use that environment's key.",
    );
  }
  return {
    organizationId,
    projectId,
    environmentId,
    workerGroupId,
    caller: { kind: "api_key", id: principal.id },
  };
}

async function userScope(
  db: Database,
  userId: string,
  selection: Selection,
  permission: Permission,
  forbidden: (permission: Permission) => DomainError,
): Promise<EnvironmentScope> {
  const project = selection?.projectId ?? null;
  const environment = selection?.environmentId ?? null;
  if (project === null || environment === null) {
    const missing = [
      ...(project === null ? ["project_id"] : []),
      ...(environment === null ? ["environment_id"] : []),
    ];
    throw invalidRequest(
      missing.map((path) => ({ path, message: "is required for users: it says where to act" })),
    );
  }
  const projectId = decodeId("proj", project);
  const environmentId = decodeId("env", environment);
  const found =
    projectId === null || environmentId === null
      ? null
      : await findUserEnvironment(db, userId, projectId, environmentId);
  if (found === null) throw notFound();
  if (!roleHolds(found.role, permission)) throw forbidden(permission);
  const { role: _, ...scope } = found;
  return { ...scope, caller: { kind: "user", id: userId } };
}
