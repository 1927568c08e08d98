import type { Tx } from "../../db/queryable.ts";
import type { Settled } from "../executions/settle-changes.ts";
import { afterTokens } from "./after-tokens.ts";
import { markOverdueExpired } from "./token-writes.ts";

/** Tokens of one round: small enough to be one short transaction. */
const EXPIRE_LIMIT = 500;

/** Expires tokens whose time has run out. @returns whether there may be more. */
export async function expireTokens(tx: Tx, now: number): Promise<{ settled: Settled[]; more: boolean }> {
  const expired = await markOverdueExpired(tx, now, EXPIRE_LIMIT);
  const byEnvironment = Map.groupBy(expired, ({ environmentId }) => environmentId);
  const settled: Settled[] = [];
  // In order, so that two rounds that settle what hangs on the tokens do not lock it crosswise.
  for (const environmentId of [...byEnvironment.keys()].sort()) {
    const tokenIds = (byEnvironment.get(environmentId) ?? []).map(({ id }) => id).sort();
    settled.push(await afterTokens(tx, { environmentId, tokenIds, now }));
  }
  return { settled, more: expired.length === EXPIRE_LIMIT };
}
