import type { StandardTypedV1 } from "@standard-schema/spec";
import type { CreateToken } from "@keelson/contract";
import type { CreatedToken, Token, TokenCompletion } from "./resources.ts";
import type { TokenStatus } from "@keelson/contract/plain";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { checkData, type SentBy } from "../payload-schema.ts";
import { withKey } from "./automatic-key.ts";
import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { createdTokenShape, tokenCompletionShape, tokenShape } from "./wire-shapes.ts";

/** The options of a new token. */
export type CreateTokenOptions = {
  /** Until it expires, at most 30 days. Default 24 h. */
  timeout?: DurationInput;
  /** Any JSON object of up to 16 KiB, shown with the token. */
  metadata?: Record<string, unknown>;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
  /**
   * A repeated request with the same key returns the first token. By default the client makes a key, so that it can
   * repeat the request safely.
   */
  idempotencyKey?: string;
  /** How long the key is remembered, up to 30 days. Default 24 h. */
  idempotencyKeyTtl?: DurationInput;
};

/** Filters of `tokens.list()`. */
export type TokenQuery = PageQuery & {
  /** Only tokens in this status, or one of these. */
  status?: TokenStatus | readonly TokenStatus[];
  /** All of them. */
  tag?: string | readonly string[];
  /** Only the tokens that this run made. */
  runId?: string;
  /** `oldest`: the one first that has waited longest. Default `newest`. */
  order?: "newest" | "oldest";
};

/** How the data of a completion is checked. */
export type CompletionOptions<S extends StandardTypedV1 = StandardTypedV1> = {
  /** The schema that the run gives to `tokens.create()` or `tokens.wait()`. Its input type is that of the data. */
  schema?: S;
};

/** `client.tokens`. */
export type TokensApi = {
  /**
   * Creates a token. Only this response has `publicAccessToken` and `callbackUrl`.
   *
   * @example
   * ```ts
   * const { id, callbackUrl } = await client.tokens.create({ timeout: "3d", tags: ["approval"] });
   * ```
   */
  create(token?: CreateTokenOptions, options?: CallOptions): Promise<CreatedToken>;
  /**
   * Newest first.
   *
   * @example
   * ```ts
   * for await (const token of client.tokens.list({ status: "pending" })) console.log(token.id);
   * ```
   */
  list(query?: TokenQuery, options?: RequestOptions): PagedList<Token>;
  /**
   * One token, without its credentials. Rejects with a NotFoundError when it does not exist.
   *
   * @example
   * ```ts
   * const token = await client.tokens.get("tok_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Token>;
  /**
   * Completes a token with any JSON. The same data again returns `already_completed`. Other data rejects with a
   * ConflictError `token_completion_conflict`, and the token does not change. With `schema`, data that does not fit
   * rejects with `DataInvalidError` before a request is sent.
   *
   * @example
   * ```ts
   * await client.tokens.complete("tok_01k…", { approved: true });
   * ```
   */
  complete<S extends StandardTypedV1 = StandardTypedV1>(
    id: string,
    data?: SentBy<S>,
    options?: CallOptions & CompletionOptions<S>,
  ): Promise<TokenCompletion>;
  /**
   * Cancels a token. The run that waits for it gets a `TokenCancelledError`.
   *
   * @example
   * ```ts
   * await client.tokens.cancel("tok_01k…");
   * ```
   */
  cancel(id: string, options?: CallOptions): Promise<Token>;
};

const toWireToken = (token: CreateTokenOptions): CreateToken => ({
  ...(token.timeout !== undefined && { timeout: toWireDuration(token.timeout, "timeout") }),
  ...(token.metadata !== undefined && { metadata: token.metadata }),
  ...(token.tags !== undefined && { tags: [...token.tags] }),
  ...(token.idempotencyKey !== undefined && { idempotency_key: token.idempotencyKey }),
  ...(token.idempotencyKeyTtl !== undefined && {
    idempotency_key_ttl: toWireDuration(token.idempotencyKeyTtl, "idempotencyKeyTtl"),
  }),
});

/** Completing twice with the same data has one effect, so that it may be repeated. */
export const completeAt = (
  transport: Transport,
  path: string,
  data: unknown,
  options: CallOptions & CompletionOptions,
): Promise<TokenCompletion> => {
  // The run that waits makes of the data what the schema makes of it: what is sent is what was given.
  checkData(options.schema, data, "The data of the completion");
  return transport.ask(tokenCompletionShape, {
    method: "POST",
    path,
    body: { json: data === undefined ? {} : { data } },
    repeatable: true,
    ...callOptions(options),
  });
};

export function createTokensApi(transport: Transport): TokensApi {
  const item = (id: string): string => `/v1/tokens/${encodeURIComponent(id)}`;
  return {
    create: (token = {}, options = {}) =>
      transport.ask(createdTokenShape, {
        method: "POST",
        path: "/v1/tokens",
        body: { json: toWireToken(withKey(token, transport.config)) },
        repeatable: true,
        ...callOptions(options),
      }),
    list: ({ status, tag, runId, order, ...query } = {}, options = {}) =>
      listOf(
        transport,
        tokenShape,
        "/v1/tokens",
        "tokens",
        { ...query, filters: { status, tag, run_id: runId, order } },
        options,
      ),
    get: (id, options = {}) => transport.ask(tokenShape, { method: "GET", path: item(id), ...options }),
    complete: async (id, data, options = {}) => completeAt(transport, `${item(id)}/complete`, data, options),
    cancel: (id, options = {}) =>
      transport.ask(tokenShape, {
        method: "POST",
        path: `${item(id)}/cancel`,
        body: { json: {} },
        repeatable: true,
        ...callOptions(options),
      }),
  };
}
