// The audit log as an administrator sees it.

import assert from "node:assert/strict";
import type { AuditEvent } from "@keelson/contract";
import type { Answer, ApiServer } from "./api-server.ts";

/** A call with the admin key. */
export const asAdmin =
  (server: ApiServer) =>
  (method: string, path: string, body?: object): Promise<Answer> =>
    server.call(method, `/admin/api/v1/${path}`, {
      as: server.credentials.admin_key,
      ...(body === undefined ? {} : { body }),
    });

export const chainQuery = (organizationId: string | null): string =>
  organizationId === null ? "" : `organization_id=${organizationId}`;

/** The newest event of a chain. */
export async function newestEvent(server: ApiServer, organizationId: string | null): Promise<AuditEvent> {
  const { body } = await asAdmin(server)("GET", `audit-events?limit=1&${chainQuery(organizationId)}`);
  const [event] = body.audit_events as AuditEvent[];
  assert.ok(event, "the chain has no event");
  return event;
}

/** All events of a chain, oldest first, as they are exported. */
export async function exportedEvents(
  server: ApiServer,
  organizationId: string | null,
): Promise<AuditEvent[]> {
  const { status, text, headers } = await asAdmin(server)(
    "GET",
    `audit-events/export?${chainQuery(organizationId)}`,
  );
  assert.equal(status, 200, text);
  assert.equal(headers.get("content-type"), "application/x-ndjson");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditEvent);
}
