import { decodeId, type IdPrefix, type Permission, type Role } from "@keelson/contract";
import { permissionSetOf, roleHolds, type Principal } from "../../core/credentials/principal.ts";
import {
  findUserEnvironment,
  findUserOrganizations,
  findUserProject,
} from "../../core/credentials/principal-reads.ts";
import type { Database } from "../../db/pool.ts";
import { DomainError, invalidRequest, notFound } from "../../domain-error.ts";
import { forbidden } from "./check-caller.ts";
import type { EnvironmentScope, OrganizationScope, ProjectScope, Route, Scope, UserScope } from "./route.ts";
import type { Selection } from "./selection.ts";

/** What of a request says where its caller acts. */
export type Whereabouts = { params: Readonly<Record<string, string>>; selection: Selection | null };

type User = Extract<Principal, { kind: "user" }>;

/** Where a caller acts. An API key and a run are bound to their environment; a user names a place, by the path or beside the request. */
export function createScopeResolver(db: Database) {
  return ({ access }: Route, principal: Principal | null, where: Whereabouts): Scope | Promise<Scope> => {
    if (principal === null) return null;
    switch (principal.kind) {
      case "api_key":
      case "run":
      case "oauth_grant":
        return boundScope(principal, where.selection);
      case "user":
        switch (access.kind) {
          case "environment":
            return environmentScope(db, principal, where.selection, access.permission);
          case "organization":
            return organizationScope(db, principal, where.selection, access.permission);
          case "project":
            return projectScope(db, principal, where.params, access.permission);
          default:
            return userScope(principal);
        }
      case "worker":
        return { workerId: principal.workerId, workerGroupId: principal.workerGroupId };
      case "public_access":
        return principal;
      case "completion_token":
        return { environmentId: principal.environmentId, tokenId: principal.id };
      case "admin":
      case "capacity":
        return null;
    }
  };
}

const userScope = ({ id, isAdmin, sessionId }: User): UserScope => ({ userId: id, isAdmin, sessionId });

/** @throws DomainError `forbidden` */
function requirePermission(role: Role, permission: Permission): void {
  if (!roleHolds(role, permission)) throw forbidden(permission);
}

const isElsewhere = (prefix: IdPrefix, selected: string | null | undefined, bound: string): boolean =>
  selected !== null && selected !== undefined && decodeId(prefix, selected) !== bound;

type Bound = Extract<Principal, { kind: "api_key" | "run" | "oauth_grant" }>;

function callerOf(principal: Bound): EnvironmentScope["caller"] {
  switch (principal.kind) {
    case "api_key":
      return { kind: "api_key", id: principal.id };
    case "run":
      return { kind: "run", id: principal.id, attemptNumber: principal.attemptNumber };
    case "oauth_grant":
      return { kind: "user", id: principal.userId };
  }
}

/** Of a credential that is bound to one environment. */
function boundScope(principal: Bound, selection: Selection | null): EnvironmentScope {
  const { organizationId, projectId, environmentId, workerGroupId } = principal;
  if (
    isElsewhere("proj", selection?.projectId, projectId) ||
    isElsewhere("env", selection?.environmentId, environmentId)
  ) {
    throw new DomainError(
      "forbidden",
      "This credential is bound to another environment. Leave project_id and environment_id out, or use that environment's key.",
    );
  }
  return {
    organizationId,
    projectId,
    environmentId,
    workerGroupId,
    caller: callerOf(principal),
    permissions: principal.permissions,
    ...(principal.kind === "oauth_grant" && {
      grant: { access: principal.access, withheld: principal.withheld },
    }),
  };
}

async function environmentScope(
  db: Database,
  user: User,
  selection: Selection | null,
  permission: Permission,
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
      : await findUserEnvironment(db, user.id, projectId, environmentId);
  if (found === null) throw notFound();
  const { role, ...scope } = found;
  requirePermission(role, permission);
  return { ...scope, caller: { kind: "user", id: user.id }, permissions: permissionSetOf(role) };
}

async function organizationScope(
  db: Database,
  user: User,
  selection: Selection | null,
  permission: Permission,
): Promise<OrganizationScope> {
  const selected = selection?.organizationId ?? null;
  const organizationId = selected === null ? null : decodeId("org", selected);
  if (selected !== null && organizationId === null) throw notFound();
  const [found, another] = await findUserOrganizations(db, user.id, organizationId);
  if (found === undefined) throw notFound();
  if (another !== undefined) {
    throw invalidRequest([
      { path: "organization_id", message: "is required for a member of several organizations" },
    ]);
  }
  requirePermission(found.role, permission);
  return { ...userScope(user), ...found };
}

async function projectScope(
  db: Database,
  user: User,
  params: Whereabouts["params"],
  permission: Permission,
): Promise<ProjectScope> {
  const environment = params["environment_id"];
  const projectId = decodeId("proj", params["project_id"] ?? "");
  const environmentId = environment === undefined ? null : decodeId("env", environment);
  if (projectId === null || (environment !== undefined && environmentId === null)) throw notFound();
  const found = await findUserProject(db, user.id, projectId, environmentId);
  if (found === null) throw notFound();
  requirePermission(found.role, permission);
  return { ...userScope(user), ...found };
}
