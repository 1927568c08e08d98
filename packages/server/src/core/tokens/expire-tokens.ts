import type { Tx } from "../../db/queryable.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import { settleTokenWaits } from "../waits/settle-waits.ts";
import { lockOverdueTokens, type TokenKey } from "./token-reads.ts";
import { markLockedExpired } from "./token-writes.ts";

/** Tokens of one round: small enough to be one short transaction. */
const EXPIRE_LIMIT = 500;

/** Expires tokens whose time has run out. */
export const expireTokens = (context: ItemContext): Promise<void> =>
  processInBatches(context, {
    loop: "expire-tokens",
    limit: EXPIRE_LIMIT,
    itemOf: ({ environmentId, id }) => ({ environmentId, itemId: id }),
    take: async (tx, limit, now) => {
      const rows = await lockOverdueTokens(tx, now, limit);
      return { rows, more: rows.length === limit };
    },
    apply: expire,
  });

async function expire(tx: Tx, tokens: readonly TokenKey[], now: number): Promise<void> {
  await markLockedExpired(tx, tokens, now);
  await settleTokenWaits(tx, tokens, now);
}
