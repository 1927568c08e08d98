import { AdminUser, Page, pageQuery, UpdateUser } from "@keelson/contract";
import { Type } from "typebox";
import { findAdminUser, listAllUsers } from "../../core/identity/admin-reads.ts";
import { changeUser } from "../../core/identity/change-user.ts";
import { notFound } from "../../domain-error.ts";
import { answerPage } from "../answer-page.ts";
import { pathId } from "../path-id.ts";
import { route, type Route } from "../route.ts";
import { toAdminUser } from "../wire/admin.ts";

const tag = "Users";
const access = { kind: "admin" } as const;
const path = "/admin/api/v1/users";
const UserParams = Type.Object({ id: Type.String() });

export const adminUserRoutes: Route[] = [
  route({
    family: "admin",
    method: "GET",
    path,
    operationId: "adminListUsers",
    summary: "List all users",
    description: "Newest first; `email` finds the one of an address.",
    tag,
    access,
    query: Type.Object(
      { ...pageQuery(), email: Type.Optional(Type.String({ maxLength: 254 })) },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A page of users.", schema: Page("users", AdminUser) } },
    handle: ({ server, query }) =>
      answerPage(
        "users",
        query,
        (before, limit) => listAllUsers(server.db, query.email ?? null, before, limit),
        toAdminUser,
      ),
  }),
  route({
    family: "admin",
    method: "GET",
    path: `${path}/:id`,
    operationId: "adminGetUser",
    summary: "Get a user",
    description: "One user, with whether they are an administrator or suspended.",
    tag,
    access,
    params: UserParams,
    responses: { 200: { description: "The user.", schema: AdminUser } },
    handle: async ({ server, params }) => {
      const user = await findAdminUser(server.db, pathId("user", params));
      if (user === null) throw notFound();
      return { status: 200, body: toAdminUser(user) };
    },
  }),
  route({
    family: "admin",
    method: "PATCH",
    path: `${path}/:id`,
    operationId: "adminUpdateUser",
    summary: "Make a user an administrator, or suspend them",
    description:
      "Every server knows within a second. A suspended user's sessions are refused and work again when they are no longer suspended; " +
      "API keys that they made belong to their environments and stay good.",
    tag,
    access,
    params: UserParams,
    body: UpdateUser,
    responses: { 200: { description: "The user.", schema: AdminUser } },
    examples: { request: { suspended: true } },
    audit: { action: "users.update", resource: "user" },
    handle: async ({ server, params, body, audited }) => {
      const userId = pathId("user", params);
      const user = await audited(
        (tx) => changeUser(tx, userId, body, server.clock()),
        () => ({ id: params.id, details: { ...body } }),
      );
      return { status: 200, body: toAdminUser(user) };
    },
  }),
];
