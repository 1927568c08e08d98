import { AuditEvent, AuditVerification, decodeId, encodeId, Id, SequenceCursor } from "@keelson/contract";
import { Type } from "typebox";
import { chainOf } from "../../core/audit/audit.ts";
import { findAuditEvent, listAuditEventsAfter } from "../../core/audit/audit-reads.ts";
import { verifyChain } from "../../core/audit/verify-chain.ts";
import { notFound } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";
import { answerAuditList, AuditEventPage, AuditListFields } from "../audit-event-list.ts";
import { sequenceCursor } from "../page.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toAuditEvent, toAuditLine } from "../wire/audit.ts";

const tag = "Audit log";
const access = { kind: "admin" } as const;
const path = "/admin/api/v1/audit-events";
const LINES_PER_READ = 500;

const ofOrganization = {
  organization_id: Type.Optional(
    Type.String({ ...Id("org"), description: "Whose chain; absent: the installation's own." }),
  ),
};

const organizationOf = (query: { organization_id?: string }): string | null =>
  query.organization_id === undefined ? null : decodeId("org", query.organization_id);

/** Read page by page, as fast as the caller takes it. */
async function* linesOf(
  { db }: ServerContext,
  chainId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (let last = after; !signal.aborted;) {
    const rows = await listAuditEventsAfter(db, chainId, last, LINES_PER_READ);
    if (rows.length > 0) yield Buffer.from(rows.map(toAuditLine).join(""));
    if (rows.length < LINES_PER_READ) return;
    last = rows.at(-1)?.sequence ?? last;
  }
}

export const adminAuditEventRoutes: Route[] = [
  route({
    family: "admin",
    method: "GET",
    path,
    operationId: "adminListAuditEvents",
    summary: "List audit events",
    description: "Of one chain, newest first: an organization's, or the installation's own.",
    tag,
    access,
    query: Type.Object({ ...AuditListFields, ...ofOrganization }, { additionalProperties: false }),
    responses: { 200: { description: "A page of events.", schema: AuditEventPage } },
    handle: ({ server, query }) => answerAuditList(server, chainOf(organizationOf(query)), query),
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/export`,
    operationId: "adminExportAuditEvents",
    summary: "Export a chain of audit events",
    description:
      'All events of one chain after `cursor`, oldest first, one JSON object a line. What precedes `,"digest":` in a line, closed by `}`, is what was digested.',
    tag,
    access,
    query: Type.Object(
      { ...ofOrganization, cursor: Type.Optional(SequenceCursor) },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "The events.", mediaType: "application/x-ndjson" } },
    handle: async ({ server, query, request }) => {
      const chainId = chainOf(organizationOf(query));
      const after = sequenceCursor(query.cursor);
      return {
        status: 200,
        bytes: linesOf(server, chainId, after, request.signal),
        contentType: "application/x-ndjson",
        headers: { "cache-control": "no-store" },
      };
    },
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/verify`,
    operationId: "adminVerifyAuditEvents",
    summary: "Verify a chain of audit events",
    description:
      "Reads the whole chain and says where it first is not as it was written. That its end was not cut off and written anew is told only by a `head` that was kept elsewhere.",
    tag,
    access,
    query: Type.Object(ofOrganization, { additionalProperties: false }),
    responses: { 200: { description: "What was found.", schema: AuditVerification } },
    handle: async ({ server, query, request }) => {
      const organizationId = organizationOf(query);
      const { head, fault } = await server.db.transaction(
        (tx) => verifyChain(tx, organizationId, request.signal),
        { isolation: "repeatable read", readOnly: true },
      );
      return {
        status: 200,
        body: {
          organization_id: organizationId === null ? null : encodeId("org", organizationId),
          valid: fault === null,
          events: head?.sequence ?? 0,
          head,
          fault,
        } satisfies AuditVerification,
      };
    },
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/:id`,
    operationId: "adminGetAuditEvent",
    summary: "Get an audit event",
    tag,
    access,
    params: Type.Object({ id: Type.String() }),
    responses: { 200: { description: "The event.", schema: AuditEvent } },
    handle: async ({ server, params }) => {
      const event = await findAuditEvent(server.db, pathId("aud", params));
      if (event === null) throw notFound();
      return { status: 200, body: toAuditEvent(event) };
    },
  }),
];
