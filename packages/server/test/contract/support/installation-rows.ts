// What administrators and scalers are called with, and what there is of theirs.

import { randomUUID } from "node:crypto";
import { encodeId } from "@keelson/contract";
import type { ApiServer } from "../../support/api-server.ts";
import { enrollWorker } from "../../support/raw-worker.ts";
import { firstOrganization } from "../../support/tenancy.ts";
import type { Ids, Row } from "../authorization-rows.ts";

export type InstallationIds = {
  organization: string;
  /** A group without workers. */
  workerGroup: string;
  enrollmentToken: string;
  /** A worker that nothing else needs. */
  spareWorker: string;
  auditEvent: string;
};

const item = (object: (ids: Ids) => string, extra: Row = {}): Row => ({ object, isGlobal: true, ...extra });
const group = (ids: Ids): string => ids.workerGroup;

export const ofInstallation: Record<string, Row> = {
  adminListOrganizations: {},
  adminCreateOrganization: {
    body: () => ({ name: `Matrix ${randomUUID()}`, owner_email: "matrix@example.com" }),
  },
  adminGetOrganization: item((ids) => ids.organization),
  adminListUsers: {},
  adminGetUser: item((ids) => ids.user),
  adminUpdateUser: item((ids) => ids.user, { body: () => ({ is_admin: false }) }),
  adminListWorkerGroups: {},
  adminCreateWorkerGroup: { body: () => ({ name: `Matrix ${randomUUID()}` }) },
  adminGetWorkerGroup: item(group),
  adminListEnrollmentTokens: {},
  adminCreateEnrollmentToken: { body: (ids) => ({ name: "Matrix", worker_group_id: ids.workerGroup }) },
  adminGetEnrollmentToken: item((ids) => ids.enrollmentToken),
  adminRevokeEnrollmentToken: item((ids) => ids.enrollmentToken),
  adminListWorkers: {},
  adminGetWorker: item((ids) => ids.spareWorker),
  adminDrainWorker: item((ids) => ids.spareWorker),
  adminListAuditEvents: {},
  adminExportAuditEvents: {},
  adminVerifyAuditEvents: {},
  adminGetAuditEvent: item((ids) => ids.auditEvent),
  adminGetSystem: {},
  listGroupCapacities: {},
  getGroupCapacity: item(group),
  drainWorkerGroup: item(group, { body: () => ({ count: 1 }) }),
  listCapacityWorkers: {},
};

/** Makes one of each. */
export async function makeInstallation(server: ApiServer): Promise<InstallationIds> {
  const admin = (method: string, path: string, body?: object) =>
    server.call(method, `/admin/api/v1/${path}`, { as: server.credentials.admin_key, body });
  const made = await admin("POST", "worker-groups", { name: "spare" });
  const token = await admin("POST", "enrollment-tokens", { name: "spare", worker_group_id: made.body.id });
  const events = await admin("GET", "audit-events");
  return {
    organization: encodeId("org", await firstOrganization(server)),
    workerGroup: made.body.id,
    enrollmentToken: token.body.id,
    spareWorker: (await enrollWorker(server)).id,
    auditEvent: events.body.audit_events[0].id,
  };
}

/** By parts of paths and by names of fields, what fuzzed requests may name. Nothing that other requests need. */
export const fuzzedInstallation = (installation: InstallationIds, userId: string) => ({
  ids: {
    "/organizations/": [installation.organization],
    "/users/": [userId],
    "/worker-groups/": [installation.workerGroup],
    "/enrollment-tokens/": [installation.enrollmentToken],
    "/workers/": [installation.spareWorker],
    "/audit-events/": [installation.auditEvent],
  },
  fields: {
    worker_group_id: [installation.workerGroup],
    actor_id: [userId],
    resource_id: [installation.workerGroup],
  },
});
