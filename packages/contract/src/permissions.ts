/** What a credential may do, `<plural>.<verb>`. */
export const PERMISSIONS = [
  "tasks.read",
  "tasks.start",
  "actors.read",
  "actors.start",
  "sessions.read",
  "sessions.write",
  "sessions.close",
  "sessions.cancel",
  "runs.read",
  "runs.cancel",
  "tokens.read",
  "tokens.create",
  "tokens.complete",
  "tokens.cancel",
  "public_access_tokens.create",
  "workspaces.read",
  "workspaces.write",
  "workspaces.delete",
  "workspaces.exec",
  "schedules.read",
  "schedules.write",
  "deployments.read",
  "deployments.create",
  "deployments.promote",
  "secrets.read",
  "secrets.write",
  "sandboxes.read",
] as const;

export type Permission = (typeof PERMISSIONS)[number];

export const ROLES = ["owner", "admin", "developer", "viewer"] as const;
export type Role = (typeof ROLES)[number];
