import type { StandardTypedV1 } from "@standard-schema/spec";
import type { CreatedToken, Token, WaitState } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { TokenCancelledError, TokenExpiredError, WaitTimeoutError } from "./durable-errors.ts";
import { toWireDuration, type DurationInput } from "./duration-input.ts";
import type { JsonOf } from "./json-type.ts";
import { checkText } from "./json-text.ts";
import { checkData } from "./payload-schema.ts";
import type { DurableRun } from "./runtime/durable/durable-run.ts";
import type { WaitFields } from "./runtime/durable/run-waits.ts";
import { toJsonValue } from "./runtime/output.ts";

type JsonObject = Record<string, unknown>;

/** The options of a new token. */
export type NewToken = {
  /** Until it expires, at most 30 d. Default 24 h. */
  timeout?: DurationInput;
  /** Any JSON object of up to 16 KiB, shown with the token. */
  metadata?: Record<string, unknown>;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
};

/** The type of a token's data, from a Standard Schema. */
export type TokenSchema<S extends StandardTypedV1> = {
  /**
   * Checks the data of the completion. The wait has the schema's output type, and rejects with `DataInvalidError` for
   * data that does not fit. Export the schema to check data before a completion too: `client.tokens.complete(id, data, {
   * schema })`.
   */
  schema: S;
};

/** Options of a wait for a token. */
export type TokenWaitOptions = {
  /** Reject with `WaitTimeoutError` after this long. Default: as long as the token lives. */
  timeout?: DurationInput;
};

/** A token of this run: give `callbackUrl` to a provider or `publicAccessToken` to a browser, and wait. */
export type RunToken<T = unknown> = {
  /** The token's id, by which others complete it. */
  id: string;
  /** Completes this token, and only this, from a browser. */
  publicAccessToken: string;
  /** Completes this token by a provider's POST. */
  callbackUrl: string;
  /** As `tokens.wait(id)`. */
  wait(options?: TokenWaitOptions): Promise<T>;
};

/** Completion tokens: a run waits for one event outside of Keelson, such as a decision or a payment. */
export type Tokens = {
  /** Creates a token once: a replay returns the same token. The schema is for the data of the completion. */
  create<S extends StandardTypedV1>(
    options: NewToken & TokenSchema<S>,
  ): Promise<RunToken<StandardTypedV1.InferOutput<S>>>;
  /** Makes a token without a schema: nobody checks that its completion is a `T`. */
  create<T = unknown>(options?: NewToken): Promise<RunToken<JsonOf<T>>>;
  /**
   * Waits until a token is completed and resolves with the completion's data. Rejects with `TokenCancelledError`,
   * `TokenExpiredError` or `WaitTimeoutError`. A token that this environment does not have fails the run.
   */
  wait<S extends StandardTypedV1>(
    tokenId: string,
    options: TokenWaitOptions & TokenSchema<S>,
  ): Promise<StandardTypedV1.InferOutput<S>>;
  /** As above, without a schema: nobody checks that the data is a `T`. */
  wait<T = unknown>(tokenId: string, options?: TokenWaitOptions): Promise<JsonOf<T>>;
};

/** The deadline of a wait as the wire has it. */
export const toTimeout = (timeout: DurationInput | undefined): { timeout?: string } =>
  timeout === undefined ? {} : { timeout: toWireDuration(timeout, "timeout") };

function readCompletion(state: WaitState, tokenId: string): unknown {
  if (state.status === "timed_out")
    throw new WaitTimeoutError(`The token ${tokenId} was not completed within the wait's timeout`);
  const completion = state.value as Pick<Token, "status" | "data"> | null;
  switch (completion?.status) {
    case "completed":
      return completion.data;
    case "expired":
      throw new TokenExpiredError(tokenId);
    default:
      throw new TokenCancelledError(tokenId);
  }
}

type WaitOptions = TokenWaitOptions & Partial<TokenSchema<StandardTypedV1>>;

async function waitForToken(
  run: DurableRun,
  tokenId: string,
  { timeout, schema }: WaitOptions,
): Promise<unknown> {
  const fields: WaitFields = { kind: "token", token_id: tokenId, ...toTimeout(timeout) };
  const data = readCompletion(await run.wait(tokenId, fields), tokenId);
  return checkData(schema, data, `The data of the token ${tokenId}`);
}

export function createTokens(locate: LocateRun): Tokens {
  const wait = async (tokenId: string, options: WaitOptions = {}): Promise<unknown> =>
    waitForToken(locateOutsideStep(locate, "tokens.wait()"), tokenId, options);
  return {
    wait,
    async create(options: NewToken & Partial<TokenSchema<StandardTypedV1>> = {}): Promise<RunToken<never>> {
      const run = locateOutsideStep(locate, "tokens.create()");
      const { timeout, metadata, tags, schema } = options;
      if (tags) for (const tag of tags) checkText(tag, "a tag");
      const fields = {
        ...toTimeout(timeout),
        ...(metadata && {
          metadata: toJsonValue(metadata, "The metadata of the token", LIMITS.metadataBytes) as JsonObject,
        }),
        ...(tags && { tags: [...tags] }),
      };
      const created = (await run.effect("token", "token", (position) => ({
        kind: "tokens",
        position,
        ...fields,
      }))) as CreatedToken;
      return {
        id: created.id,
        publicAccessToken: created.public_access_token,
        callbackUrl: created.callback_url,
        wait: (waitOptions) =>
          wait(created.id, { ...waitOptions, ...(schema && { schema }) }) as Promise<never>,
      };
    },
  };
}
