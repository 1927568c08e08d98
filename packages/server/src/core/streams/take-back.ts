import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { removeNewest } from "./stream-writes.ts";

/**
 * Undoes an append of this transaction, from that sequence on, in a transaction that goes on. Nobody has seen the records: the append has
 * locked the stream's row.
 */
export const takeBack = (
  tx: Tx,
  environmentId: Uuid<"env">,
  streamId: Uuid<"strm">,
  firstSequence: number,
): Promise<void> => removeNewest(tx, environmentId, streamId, firstSequence);
