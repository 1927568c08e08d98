import { encodeId, Member, PageQuery, UpdateMember } from "@keelson/contract";
import { changeMember } from "../../../core/identity/change-member.ts";
import { findMember, listMembers } from "../../../core/identity/member-reads.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toMember } from "./wire.ts";

const tag = "People";
const read = { kind: "organization", permission: "members.read" } as const;
const write = { kind: "organization", permission: "members.write" } as const;
const MemberParams = { user_id: Id("user") };

export const memberRoutes: RouteDefinition[] = [
  listRoute({
    in: ["api"],
    path: "/members",
    name: "listMembers",
    summary: "List an organization's members",
    description: "The newest users first.",
    tag,
    access: read,
    items: "members",
    resource: Member,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) => listMembers(server.db, scope.organizationId, after, limit),
    key: { of: ({ userId }) => userId },
    toWire: (row) => toMember(row),
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/members/:user_id",
    name: "getMember",
    summary: "Get a member",
    description: "One member of the organization, with their role.",
    tag,
    access: read,
    params: MemberParams,
    responses: { 200: { description: "The member.", schema: Member } },
    handle: async ({ server, scope, params }) => {
      const member = await findMember(server.db, scope.organizationId, params.user_id);
      if (member === null) throw notFound();
      return { status: 200, body: toMember(member) };
    },
  }),
  route({
    in: ["api"],
    method: "PATCH",
    path: "/members/:user_id",
    name: "updateMember",
    summary: "Change a member's role",
    description:
      "Only owners can add and remove owners (403 `forbidden`). The last owner stays (409 `invalid_state`).",
    tag,
    access: write,
    params: MemberParams,
    body: UpdateMember,
    responses: { 200: { description: "The member.", schema: Member } },
    transaction: "required",
    audit: { action: "members.update", resource: "member" },
    handle: async ({ tx, server, scope, params: { user_id: userId }, body, audit, onCommit }) => {
      const target = { organizationId: scope.organizationId, userId };
      const { from, changed, member } = await changeMember(tx, scope, target, body.role, server.clock());
      audit(changed ? { id: encodeId("user", userId), details: { from, to: body.role } } : null);
      onCommit(() => server.credentialCache.forget({ kind: "user", id: userId }));
      return { status: 200, body: toMember(member) };
    },
  }),
  route({
    in: ["api"],
    method: "DELETE",
    path: "/members/:user_id",
    name: "removeMember",
    summary: "Remove a member",
    description:
      "The member loses access from the next request on, and so do the clients that they connected to environments of the organization. These stay " +
      "disconnected when the person comes back. Only owners can remove owners, and the last owner stays (409 `invalid_state`).",
    tag,
    access: write,
    params: MemberParams,
    responses: { 204: { description: "The person is no longer a member." } },
    transaction: "required",
    audit: { action: "members.remove", resource: "member" },
    handle: async ({ tx, server, scope, params: { user_id: userId }, audit, onCommit }) => {
      const target = { organizationId: scope.organizationId, userId };
      const { from, revokedGrants } = await changeMember(tx, scope, target, null, server.clock());
      const oauth_grants = revokedGrants.map((id) => encodeId("ogr", id));
      audit({
        id: encodeId("user", userId),
        details: { from, ...(oauth_grants.length > 0 && { oauth_grants }) },
      });
      onCommit(() => server.credentialCache.forget({ kind: "user", id: userId }));
      return { status: 204, body: undefined };
    },
  }),
];
