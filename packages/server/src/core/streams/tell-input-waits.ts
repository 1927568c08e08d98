import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { settleInputWaits } from "../waits/settle-waits.ts";
import { lockStreams } from "./stream-reads.ts";

/**
 * Resolves the waits for input of streams that were appended to or whose session has ended. The streams' rows are locked
 * first, so that a wait which is made at the same moment either sees the record itself or is seen here.
 */
export async function tellInputWaits(
  tx: Tx,
  environmentId: Uuid<"env">,
  streamIds: readonly Uuid<"strm">[],
  now: number,
): Promise<void> {
  if (streamIds.length === 0) return;
  await lockStreams(
    tx,
    streamIds.map((id) => ({ environmentId, id })),
  );
  await settleInputWaits(tx, environmentId, streamIds, now);
}
