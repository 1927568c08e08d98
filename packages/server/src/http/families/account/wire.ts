import {
  encodeId,
  type ApiKey,
  type Environment,
  type Invitation,
  type Member,
  type Organization,
  type Project,
  type User,
} from "@keelson/contract";
import { permissionsOf } from "../../../core/credentials/principal.ts";
import type { ApiKeyRow } from "../../../core/identity/api-key-reads.ts";
import { invitationStatus } from "../../../core/identity/identity.ts";
import type { InvitationRow } from "../../../core/identity/invitation-reads.ts";
import type { MemberRow } from "../../../core/identity/member-reads.ts";
import type { EnvironmentRow, OrganizationRow, ProjectRow } from "../../../core/identity/tenancy-reads.ts";
import type { UserRow } from "../../../core/identity/user-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export const toUser = (row: UserRow): User => ({
  id: encodeId("user", row.id),
  email: row.email,
  name: row.name,
  is_admin: row.isAdmin,
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

export const toOrganization = (row: OrganizationRow): Organization => ({
  id: encodeId("org", row.id),
  name: row.name,
  slug: row.slug,
  role: row.role,
  permissions: permissionsOf(row.role),
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

export const toProject = (row: ProjectRow): Project => ({
  id: encodeId("proj", row.id),
  organization_id: encodeId("org", row.organizationId),
  name: row.name,
  slug: row.slug,
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

export const toEnvironment = (row: EnvironmentRow): Environment => ({
  id: encodeId("env", row.id),
  project_id: encodeId("proj", row.projectId),
  name: row.name,
  slug: row.slug,
  current_deployment_id: row.currentDeploymentId === null ? null : encodeId("dep", row.currentDeploymentId),
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

export const toMember = (row: MemberRow): Member => ({
  user_id: encodeId("user", row.userId),
  organization_id: encodeId("org", row.organizationId),
  email: row.email,
  name: row.name,
  role: row.role,
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

export const toInvitation = (row: InvitationRow, now: number): Invitation => ({
  id: encodeId("inv", row.id),
  organization_id: encodeId("org", row.organizationId),
  email: row.email,
  role: row.role,
  status: invitationStatus(row, now),
  invited_by: row.invitedBy === null ? null : encodeId("user", row.invitedBy),
  created_at: toTimestamp(row.createdAt),
  expires_at: toTimestamp(row.expiresAt),
  accepted_at: toTimestampOrNull(row.acceptedAt),
});

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: encodeId("key", row.id),
  project_id: encodeId("proj", row.projectId),
  environment_id: encodeId("env", row.environmentId),
  name: row.name,
  permissions: row.permissions,
  created_by: row.createdBy === null ? null : encodeId("user", row.createdBy),
  created_at: toTimestamp(row.createdAt),
  expires_at: toTimestampOrNull(row.expiresAt),
  last_used_at: toTimestampOrNull(row.lastUsedAt),
  revoked_at: toTimestampOrNull(row.revokedAt),
});
