import { ORGANIZATION_PERMISSIONS, PERMISSIONS, type Permission, type Role } from "@keelson/contract";
import type { PublicAccess } from "../public-access/public-access.ts";

/** Whom a credential stands for. */
export type Principal =
  | {
      kind: "api_key";
      id: string;
      organizationId: string;
      projectId: string;
      environmentId: string;
      workerGroupId: string;
      permissions: ReadonlySet<string>;
    }
  | { kind: "user"; id: string; isAdmin: boolean; sessionId: string }
  | { kind: "worker"; workerId: string; workerGroupId: string }
  /** Whoever was given the public token of the completion token `id`. */
  | { kind: "completion_token"; id: string; environmentId: string }
  /** Whoever was given a public access token. */
  | ({ kind: "public_access" } & PublicAccess)
  | { kind: "admin"; id: string }
  | { kind: "capacity"; id: string };

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
