import type { Tx } from "../../db/queryable.ts";
import type { Settled } from "../executions/settle-changes.ts";
import { settleInputWaits } from "../waits/settle-waits.ts";

/**
 * Follows, as a statement of its own, whatever appended to input streams or ended their session: runs that wait for a
 * record of theirs go on. It comes after the streams' rows were locked, so that a wait which is made at the same moment
 * either sees the record itself or is seen here.
 */
export const afterInput = (
  tx: Tx,
  environmentId: string,
  streamIds: readonly string[],
  now: number,
): Promise<Settled> => settleInputWaits(tx, environmentId, streamIds, now);
