import type { CreatedToken, CreateToken, Token, TokenCompletion } from "@keelson/contract";
import type { TokenStatus } from "@keelson/contract/plain";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";

/** What a token is made with. */
export type CreateTokenOptions = {
  /** Until it expires, at most 30 days. Default 24 h. */
  timeout?: DurationInput;
  /** Any JSON object of up to 16 KiB, shown with the token. */
  metadata?: Record<string, unknown>;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
  /** A second creation with the same key gives the first one's token. Without a key one whose answer is lost is not repeated. */
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

/** `client.tokens`. */
export type TokensApi = {
  /** The answer is the only one that has `public_access_token` and `callback_url`. */
  create(token?: CreateTokenOptions, options?: CallOptions): Promise<CreatedToken>;
  /** Newest first. */
  list(query?: TokenQuery, options?: RequestOptions): PagedList<Token>;
  /** One token, without its credentials; a NotFoundError when there is none. */
  get(id: string, options?: RequestOptions): Promise<Token>;
  /**
   * Completes it with any JSON. The same data again gives `already_completed`; other data is a ConflictError
   * `token_completion_conflict`, and the token stays as it is.
   */
  complete(id: string, data?: unknown, options?: CallOptions): Promise<TokenCompletion>;
  /** Whoever waits for it is told that it was cancelled. */
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
  options: CallOptions,
): Promise<TokenCompletion> =>
  transport.request({
    method: "POST",
    path,
    body: { json: data === undefined ? {} : { data } },
    repeatable: true,
    ...callOptions(options),
  });

export function createTokensApi(transport: Transport): TokensApi {
  const item = (id: string): string => `/v1/tokens/${encodeURIComponent(id)}`;
  return {
    create: (token = {}, options = {}) =>
      transport.request({
        method: "POST",
        path: "/v1/tokens",
        body: { json: toWireToken(token) },
        repeatable: token.idempotencyKey !== undefined,
        ...callOptions(options),
      }),
    list: ({ status, tag, runId, order, ...query } = {}, options = {}) =>
      listOf(
        transport,
        "/v1/tokens",
        "tokens",
        { ...query, filters: { status, tag, run_id: runId, order } },
        options,
      ),
    get: (id, options = {}) => transport.request({ method: "GET", path: item(id), ...options }),
    complete: (id, data, options = {}) => completeAt(transport, `${item(id)}/complete`, data, options),
    cancel: (id, options = {}) =>
      transport.request({
        method: "POST",
        path: `${item(id)}/cancel`,
        body: { json: {} },
        repeatable: true,
        ...callOptions(options),
      }),
  };
}
