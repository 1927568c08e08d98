import type { CreatedToken, Token, WaitState } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { TokenCancelledError, TokenExpiredError, WaitTimeoutError } from "./durable-errors.ts";
import { toWireDuration, type DurationInput } from "./duration-input.ts";
import type { DurableRun, WaitFields } from "./runtime/durable/durable-run.ts";
import { toJsonValue } from "./runtime/output.ts";

type JsonObject = Record<string, unknown>;

/** What a token is made with. */
export type NewToken = {
  /** Until it expires, at most 30 d. Default 24 h. */
  timeout?: DurationInput;
  /** Any JSON object of up to 16 KiB, shown with the token. */
  metadata?: Record<string, unknown>;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
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

/** Completion tokens: what happens once, elsewhere, and a run waits for. */
export type Tokens = {
  /** Makes a token, once: when the run goes on later, it is the same token. `T` is what its completion carries. */
  create<T = unknown>(options?: NewToken): Promise<RunToken<T>>;
  /**
   * Waits until a token is completed and resolves with the completion's data. Rejects with `TokenCancelledError`,
   * `TokenExpiredError` or `WaitTimeoutError`. A token that this environment does not have fails the run.
   */
  wait<T = unknown>(tokenId: string, options?: TokenWaitOptions): Promise<T>;
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

async function waitForToken(run: DurableRun, tokenId: string, options: TokenWaitOptions): Promise<unknown> {
  const fields: WaitFields = { kind: "token", token_id: tokenId, ...toTimeout(options.timeout) };
  return readCompletion(await run.wait(tokenId, fields), tokenId);
}

export function createTokens(locate: LocateRun): Tokens {
  const wait = async (tokenId: string, options: TokenWaitOptions = {}): Promise<unknown> =>
    waitForToken(locateOutsideStep(locate, "tokens.wait()"), tokenId, options);
  return {
    wait: wait as Tokens["wait"],
    async create<T>(options: NewToken = {}): Promise<RunToken<T>> {
      const run = locateOutsideStep(locate, "tokens.create()");
      const { timeout, metadata, tags } = options;
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
        wait: (waitOptions) => wait(created.id, waitOptions) as Promise<T>,
      };
    },
  };
}
