import { LIMITS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { NOTHING_SETTLED, type Settled } from "../executions/settle-changes.ts";
import { canonicalDigest } from "../idempotency/canonical-json.ts";
import { afterTokens } from "./after-tokens.ts";
import { decideCompletion, type Completer, type TokenRefusal } from "./token.ts";
import { findTokenWithSameness, type TokenRow } from "./token-reads.ts";
import { markCompleted, markExpired } from "./token-writes.ts";

/** What completes a token, in the form in which it is stored and compared. */
export type CompletionData = { text: string; digest: Buffer };

/**
 * Makes the data of a completion from a JSON value whose text is known to be I-JSON.
 *
 * @throws DomainError `payload_too_large`
 */
export function toCompletionData(value: unknown, limitBytes: number = LIMITS.tokenDataBytes): CompletionData {
  const text = JSON.stringify(value);
  if (text.length > limitBytes || Buffer.byteLength(text) > limitBytes) {
    throw new DomainError(
      "payload_too_large",
      `data may be ${limitBytes} bytes of JSON; store larger data elsewhere and complete with a reference.`,
      { field: "data", limit_bytes: limitBytes },
    );
  }
  return { text, digest: canonicalDigest(value) };
}

/**
 * A refusal is an outcome and not an error of the transaction: it may have come with an effect of its own, a token that
 * was found to be overdue and is expired now.
 */
export type CompletionOutcome =
  | { status: "completed" | "already_completed"; token: TokenRow; settled: Settled }
  | { status: "refused"; refusal: TokenRefusal; settled: Settled };

export type TokenToComplete = {
  environmentId: string;
  tokenId: string;
  data: CompletionData;
  by: Completer;
  now: number;
};

/**
 * Completes a token once, for ever. The first completion wins under the row's lock; the stored one is never written over.
 *
 * @throws DomainError `not_found`
 */
export async function completeToken(tx: Tx, request: TokenToComplete): Promise<CompletionOutcome> {
  const { environmentId, tokenId, data, by, now } = request;
  const settledToken = { environmentId, tokenIds: [tokenId], now };
  const completed = await markCompleted(tx, {
    environmentId,
    tokenId,
    data: data.text,
    dataDigest: data.digest,
    by,
    now,
  });
  if (completed !== null)
    return { status: "completed", token: completed, settled: await afterTokens(tx, settledToken) };
  const token = await findTokenWithSameness(tx, environmentId, tokenId, data.digest);
  if (token === null) throw notFound();
  const decision = decideCompletion(token, token.isSame, now);
  switch (decision.kind) {
    case "already_completed":
      return { status: "already_completed", token, settled: NOTHING_SETTLED };
    case "refuse":
      return { status: "refused", refusal: decision, settled: NOTHING_SETTLED };
    case "expire": {
      // Noted before it is said: a replica whose clock is behind must not complete it after somebody was told so.
      const isExpired = await markExpired(tx, environmentId, tokenId, now);
      if (!isExpired) return completeToken(tx, request);
      const expired = decideCompletion({ ...token, status: "expired" }, false, now);
      if (expired.kind !== "refuse") throw new Error("An expired token is refused.");
      return { status: "refused", refusal: expired, settled: await afterTokens(tx, settledToken) };
    }
    case "complete":
      throw new Error("A token is pending and in time, and yet was not completed.");
  }
}
