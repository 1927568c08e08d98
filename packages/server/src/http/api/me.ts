import { Me, Organization, Page, pageQuery } from "@keelson/contract";
import { Type } from "typebox";
import { findApiKeyRow } from "../../core/identity/api-key-reads.ts";
import { listUserOrganizations } from "../../core/identity/tenancy-reads.ts";
import { findUser } from "../../core/identity/user-reads.ts";
import { csrfTokenOf } from "../authenticate/csrf.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "../page.ts";
import { route, type Route } from "../route.ts";
import { toApiKey, toOrganization, toUser } from "../wire/identity.ts";

const LIST = "organizations";
/** More than these are read page by page at /api/organizations. */
const SHOWN_ORGANIZATIONS = 200;
const tag = "People";

export const meRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/me",
    operationId: "getMe",
    summary: "Who is calling",
    description:
      "The user of a session with their organizations, or the API key. A caller with a cookie gets the `csrf_token` that its unsafe requests need.",
    tag,
    access: { kind: "caller" },
    responses: { 200: { description: "The caller.", schema: Me } },
    handle: async ({ server, scope, request }) => {
      if ("environmentId" in scope) {
        const key = await findApiKeyRow(server.db, scope.environmentId, scope.caller.id);
        if (key === null) throw new Error("A caller's API key is not there.");
        return {
          status: 200,
          body: { user: null, api_key: toApiKey(key), organizations: [], csrf_token: null },
        };
      }
      const [user, organizations] = await Promise.all([
        findUser(server.db, scope.userId),
        listUserOrganizations(server.db, scope.userId, null, SHOWN_ORGANIZATIONS),
      ]);
      if (user === null) throw new Error("A caller's user is not there.");
      const body: Me = {
        user: toUser(user),
        api_key: null,
        organizations: organizations.map(toOrganization),
        csrf_token: request.sessionCookie === null ? null : csrfTokenOf(request.sessionCookie),
      };
      return { status: 200, body };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/organizations",
    operationId: "listOrganizations",
    summary: "List the caller's organizations",
    description: "Newest first, each with the caller's role in it.",
    tag,
    access: { kind: "user" },
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of organizations.", schema: Page(LIST, Organization) } },
    handle: async ({ server, scope, query }) => {
      const limit = pageLimit(query.limit);
      const before = decodeCursor(LIST, scope.userId, query.cursor);
      const rows = await listUserOrganizations(server.db, scope.userId, before, limit + 1);
      const page = toPage(rows, limit, ({ id }) => encodeCursor(LIST, scope.userId, id));
      return {
        status: 200,
        body: { organizations: page.rows.map(toOrganization), next_cursor: page.nextCursor },
      };
    },
  }),
];
