import type { CreatedPublicAccessToken, CreatePublicAccessToken } from "@keelson/contract";
import type { PublicPermission } from "@keelson/contract/plain";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { callOptions, type CallOptions } from "./exchange.ts";
import type { SessionTarget } from "./session-path.ts";
import type { Transport } from "./transport.ts";

/** What a browser may do: one permission on one stream of one session. */
export type NewPublicAccessToken = {
  /** What it allows: `session.input.send` or `session.output.read`. */
  type: PublicPermission;
  /** Of which session: by id or external id. */
  session: SessionTarget;
  /** Default `input` for sending, `output` for reading. */
  stream?: string;
  /** Only records with this correlation id. */
  correlationId?: string;
  /** At most 24 h. Default 15 min. */
  expiresIn?: DurationInput;
  /** How many requests it is good for; each connection of a reader is one. Default: any number. */
  maxUses?: number;
  /** A second creation with the same key gives the first one's token. */
  idempotencyKey?: string;
  /** How long the key is remembered, up to 30 days. Default 24 h. */
  idempotencyKeyTtl?: DurationInput;
};

/** `client.publicAccessTokens`. */
export type PublicAccessTokensApi = {
  /** The answer is the only one that has `public_access_token`. */
  create(token: NewPublicAccessToken, options?: CallOptions): Promise<CreatedPublicAccessToken>;
};

type WireScope = CreatePublicAccessToken["scope"];

function toWireReference(session: SessionTarget): WireScope["session"] {
  if (typeof session === "string") return { type: "id", id: session };
  if ("id" in session) return { type: "id", id: session.id };
  return { type: "external_id", external_id: session.externalId };
}

function toWire(token: NewPublicAccessToken): CreatePublicAccessToken {
  const stream = token.stream ?? (token.type === "session.input.send" ? "input" : "output");
  return {
    scope: {
      type: token.type,
      session: toWireReference(token.session),
      stream,
      ...(token.correlationId !== undefined && { correlation_id: token.correlationId }),
    },
    ...(token.expiresIn !== undefined && { expires_in: toWireDuration(token.expiresIn, "expiresIn") }),
    ...(token.maxUses !== undefined && { max_uses: token.maxUses }),
    ...(token.idempotencyKey !== undefined && { idempotency_key: token.idempotencyKey }),
    ...(token.idempotencyKeyTtl !== undefined && {
      idempotency_key_ttl: toWireDuration(token.idempotencyKeyTtl, "idempotencyKeyTtl"),
    }),
  };
}

export const createPublicAccessTokensApi = (transport: Transport): PublicAccessTokensApi => ({
  create: (token, options = {}) =>
    transport.request({
      method: "POST",
      path: "/api/public-access-tokens",
      body: { json: toWire(token) },
      repeatable: token.idempotencyKey !== undefined,
      ...callOptions(options),
    }),
});
