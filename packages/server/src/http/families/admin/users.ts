import { AdminUser, encodeId, ListUsers, UpdateUser } from "@keelson/contract";
import { findAdminUser, listAllUsers } from "../../../core/identity/admin-reads.ts";
import { changeUser } from "../../../core/identity/change-user.ts";
import { notFound } from "../../../domain-error.ts";
import { Id } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toAdminUser } from "./wire.ts";

const tag = "Users";
const access = { kind: "admin" } as const;
const path = "/users";
const UserParams = { id: Id("user") };

export const adminUserRoutes: RouteDefinition[] = [
  listRoute({
    in: ["admin"],
    path,
    name: "adminListUsers",
    summary: "List all users",
    description: "Newest first. `email` finds the user of an address.",
    tag,
    access,
    items: "users",
    resource: AdminUser,
    query: ListUsers,
    filter: ({ email }) => email ?? null,
    read: ({ server }, { filter, after, limit }) => listAllUsers(server.db, filter, after, limit),
    toWire: (row) => toAdminUser(row),
  }),
  route({
    in: ["admin"],
    method: "GET",
    path: `${path}/:id`,
    name: "adminGetUser",
    summary: "Get a user",
    description: "One user, with whether they are an administrator or suspended.",
    tag,
    access,
    params: UserParams,
    responses: { 200: { description: "The user.", schema: AdminUser } },
    handle: async ({ server, params }) => {
      const user = await findAdminUser(server.db, params.id);
      if (user === null) throw notFound();
      return { status: 200, body: toAdminUser(user) };
    },
  }),
  route({
    in: ["admin"],
    method: "PATCH",
    path: `${path}/:id`,
    name: "adminUpdateUser",
    summary: "Make a user an administrator, or suspend them",
    description:
      "It takes effect from the next request on, on other servers within 100 ms. A suspended user's sessions are refused and work again when they are no longer suspended; " +
      "API keys that the member created belong to their environments and stay valid.",
    tag,
    access,
    params: UserParams,
    body: UpdateUser,
    responses: { 200: { description: "The user.", schema: AdminUser } },
    examples: { request: { suspended: true } },
    transaction: "required",
    audit: { action: "users.update", resource: "user" },
    handle: async ({ tx, server, params, body, audit, onCommit }) => {
      const user = await changeUser(tx, params.id, body, server.clock());
      audit({ id: encodeId("user", params.id), details: { ...body } });
      onCommit(() => server.credentialCache.forget({ kind: "user", id: params.id }));
      return { status: 200, body: toAdminUser(user) };
    },
  }),
];
