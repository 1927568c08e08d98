import { Type, type Static, type TProperties } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { Id, Nullable, Timestamp } from "./primitives.ts";

/** Signing clients in by OAuth 2.1, as clients of the Model Context Protocol do. Field names are those of the RFCs. */

/** `read`: tools that change nothing. `write`: all tools that the person may use. */
export const OAUTH_ACCESS = ["read", "write"] as const;
export const OauthAccess = Type.Enum([...OAUTH_ACCESS]);
export type OauthAccess = (typeof OAUTH_ACCESS)[number];

/** The narrowest first. The second one contains the first. */
export const OAUTH_SCOPES = ["mcp:read", "mcp:write"] as const;

export const OAUTH_LIMITS = {
  redirectUris: 10,
  redirectUriCharacters: 512,
  clientNameCharacters: 128,
  stateCharacters: 1_024,
} as const;

const CLIENT_EXAMPLE = {
  client_id: EXAMPLE_IDS.ocl,
  client_name: "Example Editor",
  redirect_uris: ["http://127.0.0.1/callback"],
};
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** Other fields are ignored, as RFC 6749 and RFC 7591 have it. */
const lenient = <P extends TProperties>(properties: P, $id: string, examples: readonly object[] = []) =>
  Type.Object(properties, { $id, ...(examples.length > 0 && { examples: [...examples] }) });

const Text = (maxLength: number) => Type.Optional(Type.String({ maxLength }));

/** RFC 7591, section 2. */
export const RegisterOauthClient = lenient(
  {
    client_name: Type.Optional(Type.String({ maxLength: OAUTH_LIMITS.clientNameCharacters })),
    redirect_uris: Type.Optional(
      Type.Array(Type.String({ maxLength: OAUTH_LIMITS.redirectUriCharacters }), {
        maxItems: OAUTH_LIMITS.redirectUris,
        description: "https, or http on a loopback host, where any port is taken. No fragment.",
      }),
    ),
    grant_types: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 10 })),
  },
  "RegisterOauthClient",
  [{ client_name: CLIENT_EXAMPLE.client_name, redirect_uris: CLIENT_EXAMPLE.redirect_uris }],
);
export type RegisterOauthClient = Static<typeof RegisterOauthClient>;

/** RFC 7591, section 3.2.1. */
export const RegisteredOauthClient = Type.Object(
  {
    client_id: Type.String(),
    client_id_issued_at: Type.Integer({ description: "Seconds since 1970." }),
    client_name: Type.Optional(Type.String()),
    redirect_uris: Type.Array(Type.String()),
    grant_types: Type.Array(Type.String()),
    response_types: Type.Array(Type.String()),
    token_endpoint_auth_method: Type.Literal("none"),
    scope: Type.String(),
  },
  {
    $id: "RegisteredOauthClient",
    examples: [
      {
        ...CLIENT_EXAMPLE,
        client_id_issued_at: 1_795_166_100,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        scope: OAUTH_SCOPES.join(" "),
      },
    ],
  },
);
export type RegisteredOauthClient = Static<typeof RegisteredOauthClient>;

/** RFC 6749, section 5.2. */
export const OauthError = Type.Object(
  { error: Type.String(), error_description: Type.String() },
  {
    $id: "OauthError",
    examples: [{ error: "invalid_grant", error_description: "This code is unknown, used or expired." }],
  },
);
export type OauthError = Static<typeof OauthError>;

/** RFC 6749, sections 4.1.3 and 6, and RFC 8628, section 3.4. */
export const AskOauthToken = lenient(
  {
    grant_type: Type.String({ maxLength: 128 }),
    client_id: Type.String({ maxLength: 128 }),
    code: Text(128),
    code_verifier: Text(128),
    redirect_uri: Text(OAUTH_LIMITS.redirectUriCharacters),
    refresh_token: Text(128),
    device_code: Text(128),
    resource: Text(512),
  },
  "AskOauthToken",
  [{ grant_type: "refresh_token", client_id: EXAMPLE_IDS.ocl, refresh_token: "kl_ort_…" }],
);
export type AskOauthToken = Static<typeof AskOauthToken>;

/** RFC 6749, section 5.1. */
export const OauthTokens = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ description: "Seconds." }),
    refresh_token: Type.String({ description: "Good for one refresh, which answers with the next one." }),
    scope: Type.String({ description: "What the person approved." }),
  },
  {
    $id: "OauthTokens",
    examples: [
      {
        access_token: "kl_oat_…",
        token_type: "Bearer",
        expires_in: 3_600,
        refresh_token: "kl_ort_…",
        scope: "mcp:read",
      },
    ],
  },
);
export type OauthTokens = Static<typeof OauthTokens>;

/** RFC 7009, section 2.1. */
export const RevokeOauthToken = lenient({ token: Type.String({ maxLength: 128 }) }, "RevokeOauthToken", [
  { token: "kl_ort_…" },
]);
export type RevokeOauthToken = Static<typeof RevokeOauthToken>;

/** RFC 8628, section 3.1. */
export const StartOauthDevice = lenient(
  { client_id: Type.String({ maxLength: 128 }), scope: Text(256), resource: Text(512) },
  "StartOauthDevice",
  [{ client_id: EXAMPLE_IDS.ocl }],
);
export type StartOauthDevice = Static<typeof StartOauthDevice>;

/** What a client sends the browser with (RFC 6749, section 4.1.1; RFC 7636; RFC 8707). */
const authorizationRequest = {
  response_type: Text(64),
  client_id: Type.String({ maxLength: 128, examples: [EXAMPLE_IDS.ocl] }),
  redirect_uri: Type.String({
    maxLength: OAUTH_LIMITS.redirectUriCharacters,
    examples: [CLIENT_EXAMPLE.redirect_uris[0]],
  }),
  state: Text(OAUTH_LIMITS.stateCharacters),
  scope: Text(256),
  code_challenge: Text(128),
  code_challenge_method: Text(16),
  resource: Text(512),
};

export const OauthAuthorizationQuery = Type.Object(authorizationRequest, { additionalProperties: false });
export type OauthAuthorizationQuery = Static<typeof OauthAuthorizationQuery>;

/** a registered client. Its name is what it says of itself; nobody has checked it. */
export const OauthClient = Type.Object(
  {
    id: Id("ocl"),
    name: Nullable(
      Type.String({ description: "As the client gave it, and unchecked.", examples: ["Editor"] }),
    ),
  },
  { $id: "OauthClient" },
);

/** An authorization request as the person sees it who is to answer. */
export const OauthAuthorization = Type.Object(
  {
    client: OauthClient,
    redirect_host: Type.String({
      description: "Where the answer goes, with the port.",
      examples: ["127.0.0.1:33418"],
    }),
    access: OauthAccess,
  },
  { $id: "OauthAuthorization" },
);
export type OauthAuthorization = Static<typeof OauthAuthorization>;

/** Where the client may act, and how. */
export const ChosenGrant = Type.Object(
  { project_id: Id("proj"), environment_id: Id("env"), access: OauthAccess },
  { additionalProperties: false, $id: "ChosenGrant" },
);
export type ChosenGrant = Static<typeof ChosenGrant>;

export const AnswerOauthAuthorization = Type.Object(
  {
    ...authorizationRequest,
    grant: Nullable(
      Type.Object(ChosenGrant.properties, {
        additionalProperties: false,
        description: "What the person lets the client do; null denies the request.",
      }),
    ),
  },
  {
    additionalProperties: false,
    $id: "AnswerOauthAuthorization",
    examples: [
      {
        response_type: "code",
        client_id: EXAMPLE_IDS.ocl,
        redirect_uri: "http://127.0.0.1:33418/callback",
        state: "af0ifjsldkj",
        code_challenge: CHALLENGE,
        code_challenge_method: "S256",
        grant: { project_id: EXAMPLE_IDS.proj, environment_id: EXAMPLE_IDS.env, access: "read" },
      },
    ],
  },
);
export type AnswerOauthAuthorization = Static<typeof AnswerOauthAuthorization>;

export const AnsweredOauthAuthorization = Type.Object(
  {
    redirect_to: Type.String({
      description: "Where the browser goes on: the client's address, with the answer in its query.",
      examples: ["http://127.0.0.1:33418/callback?code=kl_cod_…&state=af0ifjsldkj"],
    }),
  },
  { $id: "AnsweredOauthAuthorization" },
);
export type AnsweredOauthAuthorization = Static<typeof AnsweredOauthAuthorization>;

/** A client that a person has connected. */
export const OauthGrant = Type.Object(
  {
    id: Id("ogr"),
    client: OauthClient,
    redirect_host: Nullable(Type.String({ description: "Null: it was connected by a code that it showed." })),
    project_id: Id("proj"),
    environment_id: Id("env"),
    access: OauthAccess,
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp),
    expires_at: Timestamp,
  },
  { $id: "OauthGrant" },
);
export type OauthGrant = Static<typeof OauthGrant>;

/** RFC 9728, section 2. */
export const ProtectedResource = Type.Object(
  {
    resource: Type.String({ examples: ["https://keelson.example.com/mcp"] }),
    authorization_servers: Type.Array(Type.String(), { examples: [["https://keelson.example.com"]] }),
    scopes_supported: Type.Array(Type.String(), { examples: [[...OAUTH_SCOPES]] }),
    bearer_methods_supported: Type.Array(Type.String(), { examples: [["header"]] }),
    resource_name: Type.String({ examples: ["Keelson"] }),
  },
  { $id: "ProtectedResource" },
);
export type ProtectedResource = Static<typeof ProtectedResource>;

const Endpoint = (path: string) => Type.String({ examples: [`https://keelson.example.com${path}`] });
const Names = (...names: string[]) => Type.Array(Type.String(), { examples: [names] });

/** RFC 8414, section 2. */
export const AuthorizationServer = Type.Object(
  {
    issuer: Endpoint(""),
    authorization_endpoint: Endpoint("/oauth/authorize"),
    token_endpoint: Endpoint("/oauth/token"),
    registration_endpoint: Endpoint("/oauth/register"),
    revocation_endpoint: Endpoint("/oauth/revoke"),
    device_authorization_endpoint: Endpoint("/oauth/device_authorization"),
    scopes_supported: Names(...OAUTH_SCOPES),
    response_types_supported: Names("code"),
    response_modes_supported: Names("query"),
    grant_types_supported: Names("authorization_code", "refresh_token"),
    token_endpoint_auth_methods_supported: Names("none"),
    revocation_endpoint_auth_methods_supported: Names("none"),
    code_challenge_methods_supported: Names("S256"),
    authorization_response_iss_parameter_supported: Type.Boolean(),
  },
  { $id: "AuthorizationServer" },
);
export type AuthorizationServer = Static<typeof AuthorizationServer>;
