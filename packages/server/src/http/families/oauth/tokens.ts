import {
  AskOauthToken,
  decodeId,
  DEVICE_GRANT_TYPE,
  encodeId,
  OauthTokens,
  RevokeOauthToken,
  type Uuid,
} from "@keelson/contract";
import { askDeviceGrant } from "../../../core/oauth/ask-device-grant.ts";
import { findOauthClient } from "../../../core/oauth/client-reads.ts";
import { exchangeCode } from "../../../core/oauth/exchange-code.ts";
import { notGranted, type TokenContext, type TokenOutcome } from "../../../core/oauth/give-tokens.ts";
import type { GrantRow } from "../../../core/oauth/grant-reads.ts";
import { isResource, isVerifier, refuse } from "../../../core/oauth/oauth.ts";
import { refreshGrant } from "../../../core/oauth/refresh-grant.ts";
import { revokeByToken } from "../../../core/oauth/revoke-grant.ts";
import type { AuditTarget } from "../../edge/audit.ts";
import { route, type ChangeCall, type RouteDefinition } from "../../edge/route.ts";
import { refusalReply, refused, unknownClient } from "./reply.ts";
import { resourceOf } from "./metadata.ts";
import { toTokens } from "./wire.ts";

const tag = "OAuth";
export const REVOKED = { action: "oauth_grants.revoke", resource: "oauth_grant" } as const;

/** The event of a grant that was revoked by what a client, or whoever has its token, did. */
const revokedBy = (grant: GrantRow, reason: "token_reused" | "by_client"): AuditTarget => ({
  id: encodeId("ogr", grant.id),
  organizationId: grant.organizationId,
  environmentId: grant.environmentId,
  details: { reason, oauth_client: encodeId("ocl", grant.clientId) },
});

const missing = (name: string) => refuse("invalid_request", `${name} is missing or malformed.`);

type Asked = { tx: ChangeCall["tx"]; clientId: Uuid<"ocl">; body: AskOauthToken; context: TokenContext };

async function answerGrant({ tx, clientId, body, context }: Asked): Promise<TokenOutcome> {
  const { code, code_verifier: verifier, redirect_uri: redirectUri } = body;
  const { refresh_token: refreshToken, device_code: deviceCode } = body;
  switch (body.grant_type) {
    case "authorization_code":
      if (code === undefined) return missing("code");
      if (redirectUri === undefined) return missing("redirect_uri");
      if (!isVerifier(verifier)) return missing("code_verifier");
      return exchangeCode(tx, { clientId, code, redirectUri, verifier }, context);
    case "refresh_token":
      return refreshToken === undefined
        ? missing("refresh_token")
        : refreshGrant(tx, { clientId, refreshToken }, context);
    case DEVICE_GRANT_TYPE:
      return deviceCode === undefined
        ? missing("device_code")
        : askDeviceGrant(tx, { clientId, deviceCode }, context);
    default:
      return refuse("unsupported_grant_type", "This server's metadata lists the types that it takes.");
  }
}

export const oauthTokenRoutes: RouteDefinition[] = [
  route({
    in: ["oauth"],
    method: "POST",
    path: "/oauth/token",
    name: "askOauthToken",
    summary: "Get tokens",
    description:
      "Exchanges an authorization code with its PKCE verifier, a refresh token or a device code for an access token of one hour and the next refresh token. " +
      "A refresh token is good once, but its answer is repeated for a minute, and as long as nobody has used it. " +
      "A code or refresh token that was used before revokes the grant.",
    tag,
    access: { kind: "public" },
    signIn: "mint",
    oauth: "invalid_request",
    cors: "any-origin",
    body: AskOauthToken,
    responses: { 200: { description: "The tokens.", schema: OauthTokens } },
    refusals: [401],
    transaction: "required",
    audit: REVOKED,
    handle: async ({ tx, server, body, audit, onCommit }) => {
      audit(null);
      const id = decodeId("ocl", body.client_id);
      const client = id === null ? null : await findOauthClient(tx, id);
      if (client === null) return unknownClient();
      if (!isResource(body.resource, resourceOf(server)))
        return refused("invalid_target", `There are tokens for ${resourceOf(server)} alone.`);
      const context = { masterKey: server.masterKey, cell: server.origin.cell, now: server.clock() };
      const outcome = await answerGrant({ tx, clientId: client.id, body, context });
      switch (outcome.kind) {
        case "tokens":
          return { status: 200, body: toTokens(outcome), headers: { pragma: "no-cache" } };
        case "refuse":
          return refusalReply(outcome);
        case "revoked": {
          const { grant } = outcome;
          audit(revokedBy(grant, "token_reused"));
          onCommit(() => server.credentialCache.forget({ kind: "oauth_grant", id: grant.id }));
          return refusalReply(notGranted());
        }
      }
    },
  }),
  route({
    in: ["oauth"],
    method: "POST",
    path: "/oauth/revoke",
    name: "revokeOauthToken",
    summary: "Give a token back",
    description:
      "Revokes the grant of a token, with all its tokens (RFC 7009). Whoever has the token may. An unknown token is 200, too.",
    tag,
    access: { kind: "public" },
    signIn: "mint",
    oauth: "invalid_request",
    cors: "any-origin",
    body: RevokeOauthToken,
    responses: { 200: { description: "The token is not good for anything." } },
    transaction: "required",
    audit: REVOKED,
    handle: async ({ tx, server, body, audit, onCommit }) => {
      const grant = await revokeByToken(tx, body.token, server.clock());
      audit(grant === null ? null : revokedBy(grant, "by_client"));
      if (grant !== null)
        onCommit(() => server.credentialCache.forget({ kind: "oauth_grant", id: grant.id }));
      return { status: 200, body: undefined };
    },
  }),
];
