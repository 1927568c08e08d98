import { encodeId, Me, Organization, PageQuery } from "@keelson/contract";
import { findApiKeyRow } from "../../../core/identity/api-key-reads.ts";
import { listUserOrganizations } from "../../../core/identity/tenancy-reads.ts";
import { findUser } from "../../../core/identity/user-reads.ts";
import { csrfTokenOf } from "../../edge/authenticate/csrf.ts";
import type { ServerContext } from "../../../server-context.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { toApiKey, toOrganization, toUser } from "./wire.ts";

/** More than these are read page by page at /api/organizations. */
const SHOWN_ORGANIZATIONS = 200;
const tag = "People";

/** A caller whose credential is bound to an environment: a key or a run. */
async function describeBound(server: ServerContext, scope: EnvironmentScope): Promise<Me> {
  const nobody = { user: null, api_key: null, run: null, organizations: [], csrf_token: null };
  const { caller, projectId, environmentId, permissions } = scope;
  if (caller.kind === "run") {
    const run = {
      id: encodeId("run", caller.id),
      project_id: encodeId("proj", projectId),
      environment_id: encodeId("env", environmentId),
      permissions: [...permissions],
    };
    return { ...nobody, run };
  }
  const key = caller.kind === "api_key" ? await findApiKeyRow(server.db, environmentId, caller.id) : null;
  if (key === null) throw new Error("A caller's API key is not there.");
  return { ...nobody, api_key: toApiKey(key) };
}

export const meRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "GET",
    path: "/me",
    name: "getMe",
    summary: "Who is calling",
    description:
      "The user of a session with their organizations, or the API key, or the run. A caller with a cookie gets the `csrf_token` that its unsafe requests need.",
    tag,
    access: { kind: "caller" },
    responses: { 200: { description: "The caller.", schema: Me } },
    handle: async ({ server, scope, request }) => {
      if ("environmentId" in scope) {
        return { status: 200, body: await describeBound(server, scope) };
      }
      const [user, organizations] = await Promise.all([
        findUser(server.db, scope.userId),
        listUserOrganizations(server.db, scope.userId, null, SHOWN_ORGANIZATIONS),
      ]);
      if (user === null) throw new Error("A caller's user is not there.");
      const body: Me = {
        user: toUser(user),
        api_key: null,
        run: null,
        organizations: organizations.map(toOrganization),
        csrf_token: request.sessionCookie === null ? null : csrfTokenOf(request.sessionCookie),
      };
      return { status: 200, body };
    },
  }),
  listRoute({
    in: ["api"],
    path: "/organizations",
    name: "listOrganizations",
    summary: "List the caller's organizations",
    description: "Newest first, each with the caller's role.",
    tag,
    access: { kind: "user" },
    items: "organizations",
    resource: Organization,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) =>
      listUserOrganizations(server.db, scope.userId, after, limit),
    toWire: (row) => toOrganization(row),
  }),
];
