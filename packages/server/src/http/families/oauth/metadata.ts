import { AuthorizationServer, DEVICE_GRANT_TYPE, OAUTH_SCOPES, ProtectedResource } from "@keelson/contract";
import type { ServerContext } from "../../../server-context.ts";
import { RESOURCE_METADATA_PATH, RESOURCE_PATH } from "../../edge/oauth-refusal.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";

export const GRANT_TYPES = ["authorization_code", "refresh_token", DEVICE_GRANT_TYPE] as const;

/** What tokens are for (RFC 8707). */
export const resourceOf = ({ publicUrl }: ServerContext): string => `${publicUrl()}${RESOURCE_PATH}`;

const tag = "OAuth";

/** A client asks for the first one that it can think of, and for the other when that is not there. */
const resourceRoute = (path: string, name: string): RouteDefinition =>
  route({
    in: ["oauth"],
    method: "GET",
    path,
    name,
    summary: "Describe what tokens are for",
    description: "Says where a client of the Model Context Protocol gets a token (RFC 9728).",
    tag,
    access: { kind: "public" },
    cors: "any-origin",
    responses: { 200: { description: "The resource.", schema: ProtectedResource } },
    handle: async ({ server }) => {
      const body: ProtectedResource = {
        resource: resourceOf(server),
        authorization_servers: [server.publicUrl()],
        scopes_supported: [...OAUTH_SCOPES],
        bearer_methods_supported: ["header"],
        resource_name: "Keelson",
      };
      return { status: 200, body };
    },
  });

export const oauthMetadataRoutes: RouteDefinition[] = [
  resourceRoute(RESOURCE_METADATA_PATH, "getProtectedResource"),
  resourceRoute(`${RESOURCE_METADATA_PATH}${RESOURCE_PATH}`, "getMcpResource"),
  route({
    in: ["oauth"],
    method: "GET",
    path: "/.well-known/oauth-authorization-server",
    name: "getAuthorizationServer",
    summary: "Describe the sign-in of clients",
    description: "Says how a client registers and gets tokens (RFC 8414). The issuer is `PUBLIC_URL`.",
    tag,
    access: { kind: "public" },
    cors: "any-origin",
    responses: { 200: { description: "The endpoints.", schema: AuthorizationServer } },
    handle: async ({ server }) => {
      const issuer = server.publicUrl();
      const body: AuthorizationServer = {
        issuer,
        authorization_endpoint: `${issuer}/oauth/authorize`,
        token_endpoint: `${issuer}/oauth/token`,
        registration_endpoint: `${issuer}/oauth/register`,
        revocation_endpoint: `${issuer}/oauth/revoke`,
        device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
        scopes_supported: [...OAUTH_SCOPES],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: [...GRANT_TYPES],
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
      };
      return { status: 200, body };
    },
  }),
];
