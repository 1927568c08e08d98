import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { NOTHING_SETTLED, type Settled } from "../executions/settle-changes.ts";
import { afterTokens } from "./after-tokens.ts";
import { decideCancel, type TokenRefusal } from "./token.ts";
import { findToken, type TokenRow } from "./token-reads.ts";
import { markCancelled, markExpired } from "./token-writes.ts";

/** As of a completion: a refusal may come with the expiry of the token. */
export type CancelOutcome =
  | { status: "cancelled"; token: TokenRow; settled: Settled }
  | { status: "refused"; refusal: TokenRefusal; settled: Settled };

export type TokenToCancel = { environmentId: string; tokenId: string; now: number };

/**
 * Cancels a pending token. Cancelling it again changes nothing.
 *
 * @throws DomainError `not_found`
 */
export async function cancelToken(tx: Tx, request: TokenToCancel): Promise<CancelOutcome> {
  const { environmentId, tokenId, now } = request;
  const settledToken = { environmentId, tokenIds: [tokenId], now };
  const cancelled = await markCancelled(tx, environmentId, tokenId, now);
  if (cancelled !== null)
    return { status: "cancelled", token: cancelled, settled: await afterTokens(tx, settledToken) };
  const token = await findToken(tx, environmentId, tokenId);
  if (token === null) throw notFound();
  const decision = decideCancel(token, now);
  switch (decision.kind) {
    case "none":
      return { status: "cancelled", token, settled: NOTHING_SETTLED };
    case "refuse":
      return { status: "refused", refusal: decision, settled: NOTHING_SETTLED };
    case "expire": {
      const isExpired = await markExpired(tx, environmentId, tokenId, now);
      if (!isExpired) return cancelToken(tx, request);
      const expired = decideCancel({ ...token, status: "expired" }, now);
      if (expired.kind !== "refuse") throw new Error("The cancellation of an expired token is refused.");
      return { status: "refused", refusal: expired, settled: await afterTokens(tx, settledToken) };
    }
    case "cancel":
      throw new Error("A token is pending and in time, and yet was not cancelled.");
  }
}
