import { AuditEvent } from "@keelson/contract";
import { Type } from "typebox";
import { chainOf } from "../../core/audit/audit.ts";
import { findChainEvent } from "../../core/audit/audit-reads.ts";
import { notFound } from "../../domain-error.ts";
import { answerAuditList, AuditEventPage, AuditListFields } from "../audit-event-list.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toAuditEvent } from "../wire/audit.ts";

const tag = "Audit log";
const access = { kind: "organization", permission: "audit_events.read" } as const;

export const auditEventRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/audit-events",
    operationId: "listAuditEvents",
    summary: "List an organization's audit events",
    description: "Newest first, for its owners and admins. What concerns the installation is not in it.",
    tag,
    access,
    query: Type.Object(AuditListFields, { additionalProperties: false }),
    responses: { 200: { description: "A page of events.", schema: AuditEventPage } },
    handle: ({ server, scope, query }) => answerAuditList(server, chainOf(scope.organizationId), query),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/audit-events/:id",
    operationId: "getAuditEvent",
    summary: "Get an organization's audit event",
    tag,
    access,
    params: Type.Object({ id: Type.String() }),
    responses: { 200: { description: "The event.", schema: AuditEvent } },
    handle: async ({ server, scope, params }) => {
      const event = await findChainEvent(server.db, chainOf(scope.organizationId), pathId("aud", params));
      if (event === null) throw notFound();
      return { status: 200, body: toAuditEvent(event) };
    },
  }),
];
