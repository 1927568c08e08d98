import {
  AuditEvent,
  AuditVerification,
  decodeId,
  encodeId,
  Id,
  SequenceCursor,
  type Uuid,
} from "@keelson/contract";
import { Type } from "typebox";
import { chainOf } from "../../../core/audit/audit.ts";
import { findAuditEvent, listAuditEventsAfter } from "../../../core/audit/audit-reads.ts";
import { verifyChain } from "../../../core/audit/verify-chain.ts";
import { notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { listRoute } from "../../edge/list-route.ts";
import { auditList, AuditListFields, listAuditPage } from "./audit-list.ts";
import { sequenceCursor } from "../../edge/page.ts";
import { Id as IdOf } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toAuditEvent, toAuditLine } from "./wire.ts";

const tag = "Audit log";
const access = { kind: "admin" } as const;
const path = "/audit-events";
const LINES_PER_READ = 500;

const ofOrganization = {
  organization_id: Type.Optional(
    Type.String({
      ...Id("org"),
      description: "The organization whose chain is read. Without it, the chain of the installation.",
    }),
  ),
};

const organizationOf = (query: { organization_id?: string }): Uuid<"org"> | null =>
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

export const adminAuditEventRoutes: RouteDefinition[] = [
  listRoute({
    ...auditList,
    in: ["admin"],
    path,
    name: "adminListAuditEvents",
    summary: "List audit events",
    description: "Newest first, of one chain: that of an organization, or that of the installation.",
    tag,
    access,
    query: Type.Object({ ...AuditListFields, ...ofOrganization }, { additionalProperties: false }),
    read: ({ server, query }, page) => listAuditPage(server.db, chainOf(organizationOf(query)), page),
  }),
  route({
    in: ["admin"],
    method: "GET",
    path: `${path}/export`,
    name: "adminExportAuditEvents",
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
      };
    },
  }),
  route({
    in: ["admin"],
    method: "GET",
    path: `${path}/verify`,
    name: "adminVerifyAuditEvents",
    summary: "Verify a chain of audit events",
    description:
      "Reads the whole chain and reports the first event that was changed. Compare `head` with a copy that you stored elsewhere to see that the end was not cut off and rewritten.",
    tag,
    access,
    query: Type.Object(ofOrganization, { additionalProperties: false }),
    responses: { 200: { description: "The result of the verification.", schema: AuditVerification } },
    transaction: "snapshot",
    handle: async ({ tx, query, request }) => {
      const organizationId = organizationOf(query);
      const { head, fault } = await verifyChain(tx, organizationId, request.signal);
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
    in: ["admin"],
    method: "GET",
    path: `${path}/:id`,
    name: "adminGetAuditEvent",
    summary: "Get an audit event",
    description: "One event of any chain, with the digests that link it.",
    tag,
    access,
    params: { id: IdOf("aud") },
    responses: { 200: { description: "The event.", schema: AuditEvent } },
    handle: async ({ server, params }) => {
      const event = await findAuditEvent(server.db, params.id);
      if (event === null) throw notFound();
      return { status: 200, body: toAuditEvent(event) };
    },
  }),
];
