import type { Tx } from "../../db/queryable.ts";
import type { Settled } from "../executions/settle-changes.ts";
import { settleTokenWaits } from "../waits/settle-waits.ts";

/** Tokens of one environment that have left `pending` in this transaction, whose rows it has locked. */
export type SettledTokens = { environmentId: string; tokenIds: readonly string[]; now: number };

/** What follows, in the transaction that completed, cancelled or expired the tokens: runs that wait for them go on. */
export const afterTokens = (tx: Tx, { environmentId, tokenIds, now }: SettledTokens): Promise<Settled> =>
  settleTokenWaits(tx, environmentId, tokenIds, now);
