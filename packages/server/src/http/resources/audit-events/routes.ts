import { AuditEvent } from "@keelson/contract";
import { Type } from "typebox";
import { chainOf } from "../../../core/audit/audit.ts";
import { findChainEvent } from "../../../core/audit/audit-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { auditList, AuditListFields, listAuditPage } from "./audit-list.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toAuditEvent } from "./wire.ts";

const tag = "Audit log";
const access = { kind: "organization", permission: "audit_events.read" } as const;

export const auditEventRoutes: RouteDefinition[] = [
  listRoute({
    ...auditList,
    in: ["api"],
    path: "/audit-events",
    name: "listAuditEvents",
    summary: "List an organization's audit events",
    description: "Newest first, for owners and admins. Events of the installation are not included.",
    tag,
    access,
    query: Type.Object(AuditListFields, { additionalProperties: false }),
    read: ({ server, scope }, page) => listAuditPage(server.db, chainOf(scope.organizationId), page),
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/audit-events/:id",
    name: "getAuditEvent",
    summary: "Get an organization's audit event",
    description: "An event of another organization is 404.",
    tag,
    access,
    params: { id: Id("aud") },
    responses: { 200: { description: "The event.", schema: AuditEvent } },
    handle: async ({ server, scope, params }) => {
      const event = await findChainEvent(server.db, chainOf(scope.organizationId), params.id);
      if (event === null) throw notFound();
      return { status: 200, body: toAuditEvent(event) };
    },
  }),
];
