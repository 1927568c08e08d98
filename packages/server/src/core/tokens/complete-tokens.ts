import { LIMITS, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { canonicalDigest } from "../idempotency/canonical-json.ts";
import { settleTokenWaits } from "../waits/settle-waits.ts";
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
  | { status: "completed" | "already_completed"; token: TokenRow }
  | { status: "refused"; refusal: TokenRefusal };

export type TokenToComplete = {
  environmentId: Uuid<"env">;
  tokenId: Uuid<"tok">;
  data: CompletionData;
  by: Completer;
  /** What else is written with the first completion, as the last thing of its transaction: it may lock what many lock. */
  record?: (tx: Tx) => Promise<void>;
};

/**
 * Completes tokens, each once, for ever, in one statement. The first completion wins under the row's lock; the stored one is
 * never written over.
 *
 * @returns outcomes in the order of the requests; null: there is no such token.
 */
export async function completeTokens(
  tx: Tx,
  requests: readonly TokenToComplete[],
  now: number,
): Promise<(CompletionOutcome | null)[]> {
  // One statement completes a token once: of several requests for a token the first one leads.
  const leaders = new Map(requests.toReversed().map((request) => [keyOf(request), request]));
  const completed = new Map(
    (await markCompleted(tx, [...leaders.values()], now)).map((token) => [token.id, token]),
  );
  await settleTokenWaits(tx, [...completed.values()], now);
  const outcomes: (CompletionOutcome | null)[] = [];
  for (const request of requests) {
    const token = leaders.get(keyOf(request)) === request ? completed.get(request.tokenId) : undefined;
    outcomes.push(token === undefined ? await decideLater(tx, request, now) : { status: "completed", token });
  }
  return outcomes;
}

const keyOf = ({ environmentId, tokenId }: TokenToComplete): string => `${environmentId} ${tokenId}`;

/** For a token that was not found pending and in time. */
async function decideLater(tx: Tx, request: TokenToComplete, now: number): Promise<CompletionOutcome | null> {
  const { environmentId, tokenId, data } = request;
  const token = await findTokenWithSameness(tx, environmentId, tokenId, data.digest);
  if (token === null) return null;
  const decision = decideCompletion(token, token.isSame, now);
  switch (decision.kind) {
    case "already_completed":
      return { status: "already_completed", token };
    case "refuse":
      return { status: "refused", refusal: decision };
    case "expire": {
      // Noted before it is said: a replica whose clock is behind must not complete it after somebody was told so.
      const isExpired = await markExpired(tx, environmentId, tokenId, now);
      if (!isExpired) return decideLater(tx, request, now);
      const expired = decideCompletion({ ...token, status: "expired" }, false, now);
      if (expired.kind !== "refuse") throw new Error("An expired token is refused.");
      await settleTokenWaits(tx, [token], now);
      return { status: "refused", refusal: expired };
    }
    case "complete":
      throw new Error("A token is pending and in time, and yet was not completed.");
  }
}
