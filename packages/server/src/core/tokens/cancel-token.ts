import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { settleTokenWaits } from "../waits/settle-waits.ts";
import { decideCancel, type TokenRefusal } from "./token.ts";
import { findToken, type TokenRow } from "./token-reads.ts";
import { markCancelled, markExpired } from "./token-writes.ts";

/** As of a completion: a refusal may come with the expiry of the token. */
export type CancelOutcome =
  | { status: "cancelled" | "already_cancelled"; token: TokenRow }
  | { status: "refused"; refusal: TokenRefusal };

export type TokenToCancel = { environmentId: Uuid<"env">; tokenId: Uuid<"tok">; now: number };

/**
 * Cancels a pending token. Cancelling it again changes nothing.
 *
 * @throws DomainError `not_found`
 */
export async function cancelToken(tx: Tx, request: TokenToCancel): Promise<CancelOutcome> {
  const { environmentId, tokenId, now } = request;
  const cancelled = await markCancelled(tx, environmentId, tokenId, now);
  if (cancelled !== null) {
    await settleTokenWaits(tx, [{ environmentId, id: tokenId }], now);
    return { status: "cancelled", token: cancelled };
  }
  const token = await findToken(tx, environmentId, tokenId);
  if (token === null) throw notFound();
  const decision = decideCancel(token, now);
  switch (decision.kind) {
    case "none":
      return { status: "already_cancelled", token };
    case "refuse":
      return { status: "refused", refusal: decision };
    case "expire": {
      const isExpired = await markExpired(tx, environmentId, tokenId, now);
      if (!isExpired) return cancelToken(tx, request);
      const expired = decideCancel({ ...token, status: "expired" }, now);
      if (expired.kind !== "refuse") throw new Error("The cancellation of an expired token is refused.");
      await settleTokenWaits(tx, [{ environmentId, id: tokenId }], now);
      return { status: "refused", refusal: expired };
    }
    case "cancel":
      throw new Error("A token is pending and in time, and yet was not cancelled.");
  }
}
