import { AuditEvent, Page, pageQuery } from "@keelson/contract";
import { Type, type Static } from "typebox";
import { listAuditEvents } from "../core/audit/audit-reads.ts";
import type { ServerContext } from "../server-context.ts";
import { decodeCursor, encodeCursor, pageLimit, TIME_KEY, toPage } from "./page.ts";
import { toAuditEvent } from "./wire/audit.ts";

/** A list of audit events, whoever reads it: administrators of any chain, an organization's owners and admins of its own. */

const LIST = "audit_events";

export const AuditListFields = {
  ...pageQuery(),
  action: Type.Optional(Type.String({ maxLength: 64 })),
  actor_id: Type.Optional(Type.String({ maxLength: 64 })),
  resource_id: Type.Optional(Type.String({ maxLength: 256 })),
};

export const AuditEventPage = Page(LIST, AuditEvent);

const Fields = Type.Object(AuditListFields);

export async function answerAuditList(
  { db }: ServerContext,
  chainId: string,
  query: Static<typeof Fields>,
): Promise<{ status: 200; body: Static<typeof AuditEventPage> }> {
  const limit = pageLimit(query.limit);
  const before = decodeCursor(LIST, chainId, query.cursor, TIME_KEY);
  const filter = {
    action: query.action ?? null,
    actorId: query.actor_id ?? null,
    resourceId: query.resource_id ?? null,
  };
  const place = before === null ? null : Number(before);
  const rows = await listAuditEvents(db, chainId, filter, place, limit + 1);
  const page = toPage(rows, limit, ({ sequence }) => encodeCursor(LIST, chainId, String(sequence)));
  return {
    status: 200,
    body: { audit_events: page.rows.map(toAuditEvent), next_cursor: page.nextCursor },
  };
}
