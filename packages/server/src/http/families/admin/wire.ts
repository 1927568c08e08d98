import {
  encodeId,
  type AdminOrganization,
  type AdminUser,
  type EnrollmentToken,
  type LoopFailure,
  type WorkerGroup,
} from "@keelson/contract";
import type { AdminOrganizationRow, AdminUserRow } from "../../../core/identity/admin-reads.ts";
import type { EnrollmentTokenRow, WorkerGroupRow } from "../../../core/workers/worker-group-reads.ts";
import type { LoopFailure as LoopFailureRow } from "../../../core/loop-failures/loop-failure.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export const toAdminOrganization = (row: AdminOrganizationRow): AdminOrganization => ({
  id: encodeId("org", row.id),
  name: row.name,
  slug: row.slug,
  worker_group_id: row.workerGroupId === null ? null : encodeId("wgrp", row.workerGroupId),
  members: row.members,
  projects: row.projects,
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

export const toAdminUser = (row: AdminUserRow): AdminUser => ({
  id: encodeId("user", row.id),
  email: row.email,
  name: row.name,
  is_admin: row.isAdmin,
  suspended_at: toTimestampOrNull(row.suspendedAt),
  organizations: row.organizations,
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

export const toLoopFailure = (failure: LoopFailureRow): LoopFailure => ({
  loop: failure.loop,
  environment_id: encodeId("env", failure.environmentId),
  item: failure.itemId,
  failures: failure.failures,
  cause: failure.cause,
  first_failed_at: toTimestamp(failure.firstFailedAt),
  last_failed_at: toTimestamp(failure.lastFailedAt),
  retry_at: toTimestamp(failure.retryAt),
});

export const toWorkerGroup = (row: WorkerGroupRow): WorkerGroup => ({
  id: encodeId("wgrp", row.id),
  name: row.name,
  created_at: toTimestamp(row.createdAt),
});

export const toEnrollmentToken = (row: EnrollmentTokenRow): EnrollmentToken => ({
  id: encodeId("enr", row.id),
  worker_group_id: encodeId("wgrp", row.workerGroupId),
  name: row.name,
  created_at: toTimestamp(row.createdAt),
  expires_at: toTimestampOrNull(row.expiresAt),
  revoked_at: toTimestampOrNull(row.revokedAt),
});
