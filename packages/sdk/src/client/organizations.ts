import type { AcceptedInvitation, Invitation, Me, Member } from "./resources.ts";
import type { Role } from "@keelson/contract/plain";
import type { RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { acceptedInvitationShape, invitationShape, meShape, memberShape } from "./wire-shapes.ts";

/** Which organization. A member of one need not say. */
export type InOrganization = {
  /** The organization's id. */
  organizationId?: string | undefined;
};

/** `client.account`: the person whose session the client shows. */
export type AccountApi = {
  /**
   * The person, their organizations and their permissions.
   *
   * @example
   * ```ts
   * const { user } = await client.account.get();
   * ```
   */
  get(options?: RequestOptions): Promise<Me>;
  /**
   * Ends the session. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.account.signOut();
   * ```
   */
  signOut(options?: RequestOptions): Promise<void>;
};

/** `client.members`, for people who are signed in. */
export type MembersApi = {
  /**
   * The members of an organization.
   *
   * @example
   * ```ts
   * for await (const member of client.members.list()) console.log(member.email, member.role);
   * ```
   */
  list(query?: PageQuery & InOrganization, options?: RequestOptions): PagedList<Member>;
  /**
   * Gives a member another role.
   *
   * @example
   * ```ts
   * await client.members.update("user_01k…", { role: "admin" });
   * ```
   */
  update(userId: string, change: InOrganization & { role: Role }, options?: RequestOptions): Promise<Member>;
  /**
   * Removes a member from an organization.
   *
   * @example
   * ```ts
   * await client.members.remove("user_01k…");
   * ```
   */
  remove(userId: string, options?: RequestOptions & InOrganization): Promise<void>;
};

/** `client.invitations`, for people who are signed in. */
export type InvitationsApi = {
  /**
   * The invitations of an organization.
   *
   * @example
   * ```ts
   * for await (const invitation of client.invitations.list()) console.log(invitation.email);
   * ```
   */
  list(query?: PageQuery & InOrganization, options?: RequestOptions): PagedList<Invitation>;
  /**
   * Invites somebody by mail.
   *
   * @example
   * ```ts
   * await client.invitations.create({ email: "ada@example.com", role: "viewer" });
   * ```
   */
  create(
    invitation: InOrganization & { email: string; role: Role },
    options?: RequestOptions,
  ): Promise<Invitation>;
  /**
   * Accepts an invitation by the token of its link. Somebody who is not signed in gets a session.
   *
   * @example
   * ```ts
   * const token = new URL("https://keelson.example.com/invitation?token=inv_…").searchParams.get("token") ?? "";
   * await client.invitations.accept(token);
   * ```
   */
  accept(token: string, options?: RequestOptions): Promise<AcceptedInvitation>;
  /**
   * Ends an invitation: its link cannot be used from then on.
   *
   * @example
   * ```ts
   * await client.invitations.revoke("inv_01k…");
   * ```
   */
  revoke(id: string, options?: RequestOptions & InOrganization): Promise<void>;
};

export const createAccountApi = (transport: Transport): AccountApi => ({
  get: (options = {}) => transport.ask(meShape, { method: "GET", path: "/api/me", ...options }),
  signOut: async (options = {}) => {
    const request = { method: "POST", path: "/api/auth/logout", body: { json: {} } } as const;
    await transport.request({ ...request, repeatable: true, ...options });
  },
});

export const createMembersApi = (transport: Transport): MembersApi => ({
  list: ({ organizationId, ...query } = {}, options = {}) => {
    const filters = { organization_id: organizationId };
    return listOf(transport, memberShape, "/api/members", "members", { ...query, filters }, options);
  },
  update: (userId, { role, organizationId }, options = {}) => {
    const json = { role, organization_id: organizationId };
    const path = `/api/members/${encodeURIComponent(userId)}`;
    return transport.ask(memberShape, { method: "PATCH", path, body: { json }, ...options });
  },
  remove: async (userId, { organizationId, ...options } = {}) => {
    const query = { organization_id: organizationId };
    const path = `/api/members/${encodeURIComponent(userId)}`;
    await transport.request({ method: "DELETE", path, query, ...options });
  },
});

export const createInvitationsApi = (transport: Transport): InvitationsApi => ({
  list: ({ organizationId, ...query } = {}, options = {}) => {
    const filters = { organization_id: organizationId };
    return listOf(
      transport,
      invitationShape,
      "/api/invitations",
      "invitations",
      { ...query, filters },
      options,
    );
  },
  create: ({ email, role, organizationId }, options = {}) => {
    const json = { email, role, organization_id: organizationId };
    return transport.ask(invitationShape, {
      method: "POST",
      path: "/api/invitations",
      body: { json },
      ...options,
    });
  },
  accept: (token, options = {}) => {
    const path = "/api/invitations/accept";
    return transport.ask(acceptedInvitationShape, {
      method: "POST",
      path,
      body: { json: { token } },
      ...options,
    });
  },
  revoke: async (id, { organizationId, ...options } = {}) => {
    const query = { organization_id: organizationId };
    const path = `/api/invitations/${encodeURIComponent(id)}`;
    await transport.request({ method: "DELETE", path, query, ...options });
  },
});
