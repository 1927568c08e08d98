import type { Permission, Role } from "@keelson/contract";

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
  | { kind: "user"; id: string; isAdmin: boolean }
  | { kind: "worker"; workerId: string; workerGroupId: string }
  | { kind: "admin"; id: string }
  | { kind: "capacity"; id: string };

/** A role's permissions in an environment: viewers read, everyone else also acts. */
export const roleHolds = (role: Role, permission: Permission): boolean =>
  role !== "viewer" || permission.endsWith(".read");
