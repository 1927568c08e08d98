/** What a credential may do in an environment, `<plural>.<verb>`. An API key carries a subset of these. */
export const ENVIRONMENT_PERMISSIONS = [
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
export type EnvironmentPermission = (typeof ENVIRONMENT_PERMISSIONS)[number];

type NeverOfRuns = `${"secrets" | "deployments"}.${string}`;
export type RunPermission = Exclude<EnvironmentPermission, NeverOfRuns>;

/** What a run may be given in its own environment. Secrets and code are never a run's to read or change. */
export const RUN_PERMISSIONS = ENVIRONMENT_PERMISSIONS.filter(
  (permission): permission is RunPermission => !/^(secrets|deployments)\./.test(permission),
);

/** What a run is given whose task or actor does not say. */
export const DEFAULT_RUN_PERMISSIONS: readonly RunPermission[] = RUN_PERMISSIONS.filter(
  (permission) => permission !== "schedules.write",
);

/** What a person may do to an organization's people, projects, environments and keys. No API key carries these. */
export const ORGANIZATION_PERMISSIONS = [
  "projects.read",
  "projects.write",
  "environments.read",
  "environments.write",
  "api_keys.read",
  "api_keys.write",
  "members.read",
  "members.write",
  "audit_events.read",
] as const;
export type OrganizationPermission = (typeof ORGANIZATION_PERMISSIONS)[number];

export const PERMISSIONS = [...ENVIRONMENT_PERMISSIONS, ...ORGANIZATION_PERMISSIONS] as const;

export type Permission = (typeof PERMISSIONS)[number];

export const ROLES = ["owner", "admin", "developer", "viewer"] as const;
export type Role = (typeof ROLES)[number];
