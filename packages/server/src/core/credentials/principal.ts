import {
  ENVIRONMENT_PERMISSIONS,
  ORGANIZATION_PERMISSIONS,
  PERMISSIONS,
  ROLES,
  type OauthAccess,
  type Permission,
  type Role,
  type Uuid,
} from "@keelson/contract";
import type { PublicAccess } from "../public-access/public-access.ts";

/** A client that a person has connected: it does no more than they may do now, and by some routes alone. */
export type OauthPrincipal = {
  kind: "oauth_grant";
  id: Uuid<"ogr">;
  userId: Uuid<"user">;
  clientId: Uuid<"ocl">;
  clientName: string | null;
  /** Of the tokens that it showed. */
  generation: number;
  organizationId: Uuid<"org">;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  workerGroupId: Uuid<"wgrp">;
  access: OauthAccess;
  permissions: ReadonlySet<string>;
  /** What it could be given as well by the same person. */
  withheld: ReadonlySet<string>;
};

/** Whom a credential stands for. */
export type Principal =
  | {
      kind: "api_key";
      id: Uuid<"key">;
      organizationId: Uuid<"org">;
      projectId: Uuid<"proj">;
      environmentId: Uuid<"env">;
      workerGroupId: Uuid<"wgrp">;
      permissions: ReadonlySet<string>;
    }
  /** The code of a run, while a worker holds the run's lease. */
  | {
      kind: "run";
      id: Uuid<"run">;
      attemptNumber: number;
      organizationId: Uuid<"org">;
      projectId: Uuid<"proj">;
      environmentId: Uuid<"env">;
      workerGroupId: Uuid<"wgrp">;
      permissions: ReadonlySet<string>;
    }
  | { kind: "user"; id: Uuid<"user">; isAdmin: boolean; sessionId: Uuid<"usess"> }
  | OauthPrincipal
  | { kind: "worker"; workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp"> }
  /** Whoever was given the public token of the completion token `id`. */
  | { kind: "completion_token"; id: Uuid<"tok">; environmentId: Uuid<"env"> }
  /** Whoever was given a public access token. */
  | ({ kind: "public_access" } & PublicAccess)
  | { kind: "admin"; id: Uuid<"skey"> }
  | { kind: "capacity"; id: Uuid<"skey"> };

const ORGANIZATION: ReadonlySet<string> = new Set(ORGANIZATION_PERMISSIONS);

/**
 * A role's permissions: viewers read, developers do everything in an environment, admins and owners also change people,
 * projects, environments and keys, and read the audit log, which tells where people were. That only owners make and unmake
 * owners is decided in core/identity.
 */
export function roleHolds(role: Role, permission: Permission): boolean {
  switch (role) {
    case "owner":
    case "admin":
      return true;
    case "developer":
      return isOpen(permission) || !ORGANIZATION.has(permission);
    case "viewer":
      return isOpen(permission);
  }
}

const isOpen = (permission: Permission): boolean =>
  permission.endsWith(".read") && permission !== "audit_events.read";

export const permissionsOf = (role: Role): Permission[] =>
  PERMISSIONS.filter((permission) => roleHolds(role, permission));

const HELD: ReadonlyMap<Role, ReadonlySet<Permission>> = new Map(
  ROLES.map((role) => [role, new Set(permissionsOf(role))]),
);

/** The same as a set, which is made once for each role. */
export const permissionSetOf = (role: Role): ReadonlySet<Permission> => HELD.get(role) ?? new Set();

const granted = (role: Role, access: OauthAccess): ReadonlySet<string> =>
  new Set(
    ENVIRONMENT_PERMISSIONS.filter(
      (permission) => roleHolds(role, permission) && (access === "write" || isOpen(permission)),
    ),
  );

/** What a client may do for a person of the role, and what the person keeps from it. */
export function grantedPermissions(
  role: Role,
  access: OauthAccess,
): { permissions: ReadonlySet<string>; withheld: ReadonlySet<string> } {
  const permissions = granted(role, access);
  const withheld = [...granted(role, "write")].filter((permission) => !permissions.has(permission));
  return { permissions, withheld: new Set(withheld) };
}
