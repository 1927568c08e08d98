import type { CreatePublicAccessToken } from "@keelson/contract";
import type { CreatedPublicAccessToken } from "./resources.ts";
import {
  isFilePermission,
  PUBLIC_RUN_PERMISSION,
  type PublicRunPermission,
  type PublicSessionScope,
} from "@keelson/contract/plain";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { withKey } from "./automatic-key.ts";
import { callOptions, type CallOptions } from "./exchange.ts";
import type { SessionTarget } from "./session-path.ts";
import type { Transport } from "./transport.ts";
import { createdPublicAccessTokenShape } from "./wire-shapes.ts";

/**
 * A permission for a browser on one stream of one session, or on its files, or `session.chat`: all of them on the streams and files of a
 * conversation.
 */
export type NewSessionAccess = {
  /**
   * The permission: `session.input.send`, `session.output.read`, `session.messages.read`, `session.interrupt`,
   * `session.files.read` or `session.files.write`; or `session.chat`.
   */
  type: PublicSessionScope;
  /** Of which session: by id or external id. */
  session: SessionTarget;
  /** Default `input` for sending, `output` for the others. Not for `session.chat` and files. */
  stream?: string;
  /** Of `session.chat`: the input streams. Default `input` alone. */
  inputs?: readonly string[];
  /** Of `session.chat`: the output streams. Default `output` alone. */
  outputs?: readonly string[];
  /** Only records with this correlation id, and no files. */
  correlationId?: string;
};

/** For a browser that watches one run. */
export type NewRunAccess = {
  type: PublicRunPermission;
  /** The run, or its id. */
  run: string | { id: string };
};

/** What a browser may do, and for how long. */
export type NewPublicAccessToken = (NewSessionAccess | NewRunAccess) & {
  /** At most 24 h. Default 15 min. */
  expiresIn?: DurationInput;
  /** The number of requests that the token allows; each connection of a reader is one request. Default: no limit. */
  maxUses?: number;
  /**
   * A repeated request with the same key returns the first token. By default the client makes a key, so that it can
   * repeat the request safely.
   */
  idempotencyKey?: string;
  /** How long the key is remembered, up to 30 days. Default 24 h. */
  idempotencyKeyTtl?: DurationInput;
};

/** `client.publicAccessTokens`. */
export type PublicAccessTokensApi = {
  /**
   * Only this response has `publicAccessToken`.
   *
   * @example
   * ```ts
   * const { publicAccessToken } = await client.publicAccessTokens.create({
   *   type: "session.output.read",
   *   session: { externalId: "visitor-1" },
   *   expiresIn: "15m",
   * });
   * ```
   */
  create(token: NewPublicAccessToken, options?: CallOptions): Promise<CreatedPublicAccessToken>;
};

type WireScope = CreatePublicAccessToken["scope"];
type WireSessionScope = Exclude<WireScope, { type: PublicRunPermission }>;

function toWireReference(session: SessionTarget): WireSessionScope["session"] {
  if (typeof session === "string") return { type: "id", id: session };
  if ("id" in session) return { type: "id", id: session.id };
  return { type: "external_id", external_id: session.externalId };
}

function toWireStreams({ type, stream, inputs, outputs }: NewSessionAccess): Partial<WireSessionScope> {
  // What is not for them, the server refuses.
  if (type === "session.chat" || isFilePermission(type))
    return {
      ...(stream !== undefined && { stream }),
      ...(inputs !== undefined && { inputs: [...inputs] }),
      ...(outputs !== undefined && { outputs: [...outputs] }),
    };
  return { stream: stream ?? (type === "session.input.send" ? "input" : "output") };
}

function toWireScope(access: NewSessionAccess | NewRunAccess): WireScope {
  if (access.type === PUBLIC_RUN_PERMISSION) {
    const { type, run } = access;
    return { type, run: typeof run === "string" ? run : run.id };
  }
  return {
    type: access.type,
    session: toWireReference(access.session),
    ...toWireStreams(access),
    ...(access.correlationId !== undefined && { correlation_id: access.correlationId }),
  };
}

function toWire(token: NewPublicAccessToken): CreatePublicAccessToken {
  return {
    scope: toWireScope(token),
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
    transport.ask(createdPublicAccessTokenShape, {
      method: "POST",
      path: "/api/public-access-tokens",
      body: { json: toWire(withKey(token, transport.config)) },
      repeatable: true,
      ...callOptions(options),
    }),
});
