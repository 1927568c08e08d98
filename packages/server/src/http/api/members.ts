import { decodeId, Member, Page, pageQuery, UpdateMember } from "@keelson/contract";
import { Type } from "typebox";
import { changeMember } from "../../core/identity/change-member.ts";
import { findMember, listMembers } from "../../core/identity/member-reads.ts";
import { notFound } from "../../domain-error.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "../page.ts";
import { route, type Route } from "../route.ts";
import { toMember } from "../wire/identity.ts";

const LIST = "members";
const tag = "People";
const read = { kind: "organization", permission: "members.read" } as const;
const write = { kind: "organization", permission: "members.write" } as const;
const MemberParams = Type.Object({ user_id: Type.String() });

function userIdOf(params: { user_id: string }): string {
  const id = decodeId("user", params.user_id);
  if (id === null) throw notFound();
  return id;
}

export const memberRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/members",
    operationId: "listMembers",
    summary: "List an organization's members",
    description: "The newest users first.",
    tag,
    access: read,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of members.", schema: Page(LIST, Member) } },
    handle: async ({ server, scope, query }) => {
      const { organizationId } = scope;
      const limit = pageLimit(query.limit);
      const before = decodeCursor(LIST, organizationId, query.cursor);
      const rows = await listMembers(server.db, organizationId, before, limit + 1);
      const page = toPage(rows, limit, ({ userId }) => encodeCursor(LIST, organizationId, userId));
      return { status: 200, body: { members: page.rows.map(toMember), next_cursor: page.nextCursor } };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/members/:user_id",
    operationId: "getMember",
    summary: "Get a member",
    description: "One member of the organization, with their role.",
    tag,
    access: read,
    params: MemberParams,
    responses: { 200: { description: "The member.", schema: Member } },
    handle: async ({ server, scope, params }) => {
      const member = await findMember(server.db, scope.organizationId, userIdOf(params));
      if (member === null) throw notFound();
      return { status: 200, body: toMember(member) };
    },
  }),
  route({
    family: "api",
    method: "PATCH",
    path: "/api/members/:user_id",
    operationId: "updateMember",
    summary: "Change a member's role",
    description:
      "Only owners make and unmake owners (403 `forbidden`); the last owner stays one (409 `invalid_state`).",
    tag,
    access: write,
    params: MemberParams,
    body: UpdateMember,
    responses: { 200: { description: "The member.", schema: Member } },
    audit: { action: "members.update", resource: "member" },
    handle: async ({ server, scope, params, body, audited }) => {
      const target = { organizationId: scope.organizationId, userId: userIdOf(params) };
      const { member } = await audited(
        (tx) => changeMember(tx, scope, target, body.role, server.clock()),
        ({ from, changed }) => (changed ? { id: params.user_id, details: { from, to: body.role } } : null),
      );
      return { status: 200, body: toMember(member) };
    },
  }),
  route({
    family: "api",
    method: "DELETE",
    path: "/api/members/:user_id",
    operationId: "removeMember",
    summary: "Remove a member",
    description:
      "They may do nothing in the organization from their next request on. Only owners remove owners; the last one stays (409 `invalid_state`).",
    tag,
    access: write,
    params: MemberParams,
    responses: { 204: { description: "They are no member any more." } },
    audit: { action: "members.remove", resource: "member" },
    handle: async ({ server, scope, params, audited }) => {
      const target = { organizationId: scope.organizationId, userId: userIdOf(params) };
      await audited(
        (tx) => changeMember(tx, scope, target, null, server.clock()),
        ({ from }) => ({ id: params.user_id, details: { from } }),
      );
      return { status: 204, body: undefined };
    },
  }),
];
