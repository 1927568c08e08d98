import {
  AcceptedInvitation,
  AcceptInvitation,
  CreateInvitation,
  decodeId,
  encodeId,
  Invitation,
  Page,
  pageQuery,
} from "@keelson/contract";
import { Type } from "typebox";
import {
  acceptInvitation,
  type AcceptedInvitation as Accepted,
} from "../../core/identity/accept-invitation.ts";
import { createInvitation } from "../../core/identity/create-invitation.ts";
import { findInvitation, listInvitations } from "../../core/identity/invitation-reads.ts";
import { revokeInvitation } from "../../core/identity/revoke-invitation.ts";
import { invitationMail } from "../../core/logins/write-mails.ts";
import { notFound } from "../../domain-error.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "../page.ts";
import { route, type Route } from "../route.ts";
import { giveSession } from "../give-session.ts";
import { toInvitation, toOrganization, toUser } from "../wire/identity.ts";

const LIST = "invitations";
const tag = "People";
const read = { kind: "organization", permission: "members.read" } as const;
const write = { kind: "organization", permission: "members.write" } as const;
const InvitationParams = Type.Object({ id: Type.String() });

function invitationIdOf(params: { id: string }): string {
  const id = decodeId("inv", params.id);
  if (id === null) throw notFound();
  return id;
}

/** Someone new is signed in by what they accept. */
const sessionIdOf = ({ session }: Accepted): string | null =>
  session === null ? null : encodeId("usess", session.id);

export const invitationRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/invitations",
    operationId: "listInvitations",
    summary: "List an organization's invitations",
    description: "Newest first, whatever became of them.",
    tag,
    access: read,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of invitations.", schema: Page(LIST, Invitation) } },
    handle: async ({ server, scope, query }) => {
      const { organizationId } = scope;
      const limit = pageLimit(query.limit);
      const before = decodeCursor(LIST, organizationId, query.cursor);
      const rows = await listInvitations(server.db, organizationId, before, limit + 1);
      const page = toPage(rows, limit, ({ id }) => encodeCursor(LIST, organizationId, id));
      const invitations = page.rows.map((row) => toInvitation(row, server.clock()));
      return { status: 200, body: { invitations, next_cursor: page.nextCursor } };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/invitations",
    operationId: "createInvitation",
    summary: "Invite someone",
    description:
      "Sends a link to the address, or prints it on the server's standard error where no SMTP is configured. It is good for 7 days and " +
      "replaces an earlier one. Only owners invite owners; a member's address is 409 `already_exists`.",
    tag,
    access: write,
    body: CreateInvitation,
    responses: { 201: { description: "The invitation.", schema: Invitation } },
    audit: { action: "invitations.create", resource: "invitation" },
    handle: async ({ server, scope, body, audited }) => {
      const { newUuid, makeCredential } = server;
      const now = server.clock();
      const { invitation, organization, token } = await audited(
        (tx) => createInvitation(tx, scope, scope.organizationId, body, { newUuid, makeCredential, now }),
        (made) => ({
          id: encodeId("inv", made.invitation.id),
          details: { email: body.email, role: body.role },
        }),
      );
      server.mail.send(invitationMail(invitation.email, organization.name, server.publicUrl(), token));
      return { status: 201, body: toInvitation(invitation, now) };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/invitations/accept",
    operationId: "acceptInvitation",
    summary: "Accept an invitation",
    description:
      "With the token of the invitation's link. Someone new gets an account and a session; whoever has an account signs in to it first " +
      "(401 `unauthenticated`), with the invited address (403 `forbidden`).",
    tag,
    access: { kind: "visitor" },
    signIn: "login",
    body: AcceptInvitation,
    responses: { 200: { description: "The caller is a member.", schema: AcceptedInvitation } },
    audit: { action: "invitations.accept", resource: "invitation" },
    handle: async ({ server, scope, body, audited }) => {
      const { newUuid, makeCredential } = server;
      const context = { newUuid, makeCredential, now: server.clock() };
      const { organization, user, session } = await audited(
        (tx) => acceptInvitation(tx, scope, body.token, context),
        (accepted) => ({
          id: encodeId("inv", accepted.invitationId),
          organizationId: accepted.organization.id,
          userId: accepted.user.id,
          details: { role: accepted.organization.role, session_id: sessionIdOf(accepted) },
        }),
      );
      const { token, headers } = giveSession(session?.text ?? null, body.session, server.isSecure);
      return {
        status: 200,
        headers,
        body: { organization: toOrganization(organization), user: toUser(user), token },
      };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/invitations/:id",
    operationId: "getInvitation",
    summary: "Get an invitation",
    description: "Its state too: open, accepted, revoked or expired. The link is in the mail alone.",
    tag,
    access: read,
    params: InvitationParams,
    responses: { 200: { description: "The invitation.", schema: Invitation } },
    handle: async ({ server, scope, params }) => {
      const invitation = await findInvitation(server.db, scope.organizationId, invitationIdOf(params));
      if (invitation === null) throw notFound();
      return { status: 200, body: toInvitation(invitation, server.clock()) };
    },
  }),
  route({
    family: "api",
    method: "DELETE",
    path: "/api/invitations/:id",
    operationId: "revokeInvitation",
    summary: "Revoke an invitation",
    description: "Revoking it again changes nothing; one that was accepted is 409 `invalid_state`.",
    tag,
    access: write,
    params: InvitationParams,
    responses: { 204: { description: "The invitation is revoked." } },
    audit: { action: "invitations.revoke", resource: "invitation" },
    handle: async ({ server, scope, params, audited }) => {
      const target = { organizationId: scope.organizationId, invitationId: invitationIdOf(params) };
      await audited(
        (tx) => revokeInvitation(tx, scope, target, server.clock()),
        (revoked) => (revoked ? { id: params.id } : null),
      );
      return { status: 204, body: undefined };
    },
  }),
];
