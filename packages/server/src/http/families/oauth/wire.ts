import {
  decodeId,
  encodeId,
  type AnswerOauthAuthorization,
  type ChosenGrant,
  type OauthAuthorization,
  type OauthAuthorizationQuery,
  type OauthGrant,
  type OauthTokens,
  type RegisteredOauthClient,
} from "@keelson/contract";
import type { AuthorizationRequest, CheckedAuthorization } from "../../../core/oauth/check-authorization.ts";
import type { OauthClientRow } from "../../../core/oauth/client-reads.ts";
import type { ListedGrantRow } from "../../../core/oauth/grant-reads.ts";
import type { TokenOutcome } from "../../../core/oauth/give-tokens.ts";
import type { ChosenPlace, MadeGrant } from "../../../core/oauth/make-grant.ts";
import { hostOf, scopeOf } from "../../../core/oauth/oauth.ts";
import { notFound } from "../../../domain-error.ts";
import type { AuditTarget } from "../../edge/audit.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";
import { GRANT_TYPES } from "./metadata.ts";

export const toClient = ({ id, name }: Pick<OauthClientRow, "id" | "name">): OauthGrant["client"] => ({
  id: encodeId("ocl", id),
  name,
});

export const toRegistered = (
  { id, name, redirectUris }: OauthClientRow,
  now: number,
): RegisteredOauthClient => ({
  client_id: encodeId("ocl", id),
  client_id_issued_at: Math.floor(now / 1_000),
  ...(name !== null && { client_name: name }),
  redirect_uris: redirectUris,
  grant_types: [...GRANT_TYPES],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
  scope: scopeOf("write"),
});

export const toTokens = (tokens: Extract<TokenOutcome, { kind: "tokens" }>): OauthTokens => ({
  access_token: tokens.accessToken,
  token_type: "Bearer",
  expires_in: Math.floor(tokens.expiresInMs / 1_000),
  refresh_token: tokens.refreshToken,
  scope: scopeOf(tokens.access),
});

export const fromRequest = (
  query: OauthAuthorizationQuery | AnswerOauthAuthorization,
): AuthorizationRequest => ({
  clientId: decodeId("ocl", query.client_id),
  redirectUri: query.redirect_uri,
  responseType: query.response_type,
  challenge: query.code_challenge,
  challengeMethod: query.code_challenge_method,
  scope: query.scope,
  resource: query.resource,
});

export const toAuthorization = ({
  client,
  redirectUri,
  access,
}: CheckedAuthorization): OauthAuthorization => ({
  client: toClient(client),
  redirect_host: hostOf(redirectUri),
  access,
});

/** @throws DomainError `not_found`, as for a place that is not there */
export function fromChosen({ project_id, environment_id, access }: ChosenGrant): ChosenPlace {
  const projectId = decodeId("proj", project_id);
  const environmentId = decodeId("env", environment_id);
  if (projectId === null || environmentId === null) throw notFound();
  return { projectId, environmentId, access };
}

export const toGrant = (row: ListedGrantRow): OauthGrant => ({
  id: encodeId("ogr", row.id),
  client: toClient({ id: row.clientId, name: row.clientName }),
  redirect_host: row.redirectUri === null ? null : hostOf(row.redirectUri),
  project_id: encodeId("proj", row.projectId),
  environment_id: encodeId("env", row.environmentId),
  access: row.access,
  created_at: toTimestamp(row.createdAt),
  last_used_at: toTimestampOrNull(row.lastUsedAt),
  expires_at: toTimestamp(row.expiresAt),
});

/** The event of a grant that was made, in the chain of the organization that it is for. */
export const grantMade = (
  grant: MadeGrant,
  client: Pick<OauthClientRow, "id" | "name">,
  redirectUri: string | null,
  resource: "oauth_grant" | "device" = "oauth_grant",
): AuditTarget => ({
  id: resource === "device" ? null : encodeId("ogr", grant.id),
  organizationId: grant.place.organizationId,
  environmentId: grant.place.environmentId,
  details: {
    ...(resource === "device" && { oauth_grant: encodeId("ogr", grant.id) }),
    access: grant.access,
    oauth_client: encodeId("ocl", client.id),
    oauth_client_name: client.name,
    redirect_host: redirectUri === null ? null : hostOf(redirectUri),
  },
});
