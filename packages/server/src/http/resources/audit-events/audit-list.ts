import { AuditEvent, pageQuery } from "@keelson/contract";
import { Type } from "typebox";
import type { AuditRow } from "../../../core/audit/audit.ts";
import { listAuditEvents, type AuditFilter } from "../../../core/audit/audit-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import type { PageRequest } from "../../edge/list-route.ts";
import { TIME_KEY } from "../../edge/page.ts";
import { toAuditEvent } from "./wire.ts";

/** A list of audit events, whoever reads it: administrators of any chain, an organization's owners and admins of its own. */

export const AuditListFields = {
  ...pageQuery(),
  action: Type.Optional(Type.String({ maxLength: 64 })),
  actor_id: Type.Optional(Type.String({ maxLength: 64 })),
  resource_id: Type.Optional(Type.String({ maxLength: 256 })),
};

export const auditList = {
  items: "audit_events",
  title: "events",
  resource: AuditEvent,
  filter: (query: { action?: string; actor_id?: string; resource_id?: string }): AuditFilter => ({
    action: query.action ?? null,
    actorId: query.actor_id ?? null,
    resourceId: query.resource_id ?? null,
  }),
  key: { of: ({ sequence }: AuditRow) => String(sequence), pattern: TIME_KEY },
  toWire: (row: AuditRow) => toAuditEvent(row),
} as const;

export const listAuditPage = (
  db: Queryable,
  chainId: string,
  { filter, after, limit }: PageRequest<AuditFilter>,
): Promise<AuditRow[]> => listAuditEvents(db, chainId, filter, after === null ? null : Number(after), limit);
