import { encodeId, OauthGrant, PageQuery } from "@keelson/contract";
import { listGrants } from "../../../core/oauth/grant-reads.ts";
import { revokeOwnGrant } from "../../../core/oauth/revoke-grant.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { REVOKED } from "./tokens.ts";
import { toGrant } from "./wire.ts";

const tag = "Connected clients";

export const oauthGrantRoutes: RouteDefinition[] = [
  listRoute({
    in: ["api"],
    path: "/oauth-grants",
    name: "listOauthGrants",
    summary: "List the clients that you connected",
    description: "Newest first, in all organizations. `last_used_at` is accurate to the minute.",
    tag,
    access: { kind: "user" },
    items: "oauth_grants",
    title: "connected clients",
    resource: OauthGrant,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) =>
      listGrants(server.db, scope.userId, after, limit, server.clock()),
    toWire: (row) => toGrant(row),
  }),
  route({
    in: ["api"],
    method: "DELETE",
    path: "/oauth-grants/:id",
    name: "revokeOauthGrant",
    summary: "Disconnect a client",
    description:
      "This server refuses the client's tokens from the next request on, other servers within 100 ms. Revoking again changes nothing.",
    tag,
    access: { kind: "user" },
    params: { id: Id("ogr") },
    responses: { 204: { description: "The client is disconnected." } },
    transaction: "required",
    audit: REVOKED,
    handle: async ({ tx, server, scope, params, audit, onCommit }) => {
      const grant = await revokeOwnGrant(tx, scope, params.id, server.clock());
      const place = grant && { organizationId: grant.organizationId, environmentId: grant.environmentId };
      audit(
        grant &&
          place && {
            id: encodeId("ogr", grant.id),
            ...place,
            details: { reason: "by_person", oauth_client: encodeId("ocl", grant.clientId) },
          },
      );
      onCommit(() => server.credentialCache.forget({ kind: "oauth_grant", id: params.id }));
      return { status: 204, body: undefined };
    },
  }),
];
