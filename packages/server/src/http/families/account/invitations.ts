import {
  AcceptedInvitation,
  AcceptInvitation,
  CreateInvitation,
  encodeId,
  Invitation,
  PageQuery,
} from "@keelson/contract";
import {
  acceptInvitation,
  type AcceptedInvitation as Accepted,
} from "../../../core/identity/accept-invitation.ts";
import { createInvitation } from "../../../core/identity/create-invitation.ts";
import { findInvitation, listInvitations } from "../../../core/identity/invitation-reads.ts";
import { revokeInvitation } from "../../../core/identity/revoke-invitation.ts";
import { invitationMail } from "../../../core/logins/write-mails.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { giveSession } from "../sign-in/give-session.ts";
import { toInvitation, toOrganization, toUser } from "./wire.ts";

const tag = "People";
const read = { kind: "organization", permission: "members.read" } as const;
const write = { kind: "organization", permission: "members.write" } as const;
const InvitationParams = { id: Id("inv") };

/** Someone new is signed in by what they accept. */
const sessionIdOf = ({ session }: Accepted): string | null =>
  session === null ? null : encodeId("usess", session.id);

export const invitationRoutes: RouteDefinition[] = [
  listRoute({
    in: ["api"],
    path: "/invitations",
    name: "listInvitations",
    summary: "List an organization's invitations",
    description: "Newest first, in every state.",
    tag,
    access: read,
    items: "invitations",
    resource: Invitation,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) =>
      listInvitations(server.db, scope.organizationId, after, limit),
    toWire: (row, { now }) => toInvitation(row, now),
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/invitations",
    name: "createInvitation",
    summary: "Invite someone",
    description:
      "Sends a link to the address. Without SMTP the server shows it on its terminal, or keeps it in the folder `mail` of its data folder. It is good for 7 days and " +
      "replaces an earlier one. Only owners invite owners; a member's address is 409 `already_exists`.",
    tag,
    access: write,
    body: CreateInvitation,
    responses: { 201: { description: "The invitation.", schema: Invitation } },
    transaction: "required",
    audit: { action: "invitations.create", resource: "invitation" },
    handle: async ({ tx, server, scope, body, audit, onCommit }) => {
      const { newUuid, makeCredential } = server;
      const context = { newUuid, makeCredential, now: server.clock() };
      const made = await createInvitation(tx, scope, scope.organizationId, body, context);
      const { invitation, organization, token } = made;
      audit({ id: encodeId("inv", invitation.id), details: { email: body.email, role: body.role } });
      const mail = invitationMail(invitation.email, organization.name, server.publicUrl(), token);
      onCommit(() => server.mail.send(mail));
      return { status: 201, body: toInvitation(invitation, context.now) };
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/invitations/accept",
    name: "acceptInvitation",
    summary: "Accept an invitation",
    description:
      "Takes the token of the invitation's link. A new person gets an account and a session. A person with an account signs in first (otherwise 401" +
      " `unauthenticated`), with the invited address (otherwise 403 `forbidden`).",
    tag,
    access: { kind: "visitor" },
    signIn: "login",
    body: AcceptInvitation,
    responses: { 200: { description: "The caller is a member.", schema: AcceptedInvitation } },
    refusals: [403, 404],
    transaction: "required",
    audit: { action: "invitations.accept", resource: "invitation" },
    handle: async ({ tx, server, scope, body, audit }) => {
      const { newUuid, makeCredential } = server;
      const context = { newUuid, makeCredential, now: server.clock() };
      const accepted = await acceptInvitation(tx, scope, body.token, context);
      const { organization, user, session } = accepted;
      audit({
        id: encodeId("inv", accepted.invitationId),
        organizationId: organization.id,
        userId: user.id,
        details: { role: organization.role, session_id: sessionIdOf(accepted) },
      });
      const given = session === null ? null : { text: session.text, email: user.email };
      const { token, headers } = giveSession(server, given, body.session);
      return {
        status: 200,
        headers,
        body: { organization: toOrganization(organization), user: toUser(user), token },
      };
    },
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/invitations/:id",
    name: "getInvitation",
    summary: "Get an invitation",
    description: "Shows also the state: open, accepted, revoked or expired. Only the mail has the link.",
    tag,
    access: read,
    params: InvitationParams,
    responses: { 200: { description: "The invitation.", schema: Invitation } },
    handle: async ({ server, scope, params }) => {
      const invitation = await findInvitation(server.db, scope.organizationId, params.id);
      if (invitation === null) throw notFound();
      return { status: 200, body: toInvitation(invitation, server.clock()) };
    },
  }),
  route({
    in: ["api"],
    method: "DELETE",
    path: "/invitations/:id",
    name: "revokeInvitation",
    summary: "Revoke an invitation",
    description: "Revoking again changes nothing. An accepted invitation is 409 `invalid_state`.",
    tag,
    access: write,
    params: InvitationParams,
    responses: { 204: { description: "The invitation is revoked." } },
    transaction: "required",
    audit: { action: "invitations.revoke", resource: "invitation" },
    handle: async ({ tx, server, scope, params, audit }) => {
      const target = { organizationId: scope.organizationId, invitationId: params.id };
      const revoked = await revokeInvitation(tx, scope, target, server.clock());
      audit(revoked ? { id: encodeId("inv", params.id) } : null);
      return { status: 204, body: undefined };
    },
  }),
];
