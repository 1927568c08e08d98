import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { settleInputWaits } from "../waits/settle-waits.ts";
import { lockStreams } from "./stream-reads.ts";

/**
 * Resolves the waits for input of streams that were appended to or whose session has ended. The streams' rows are locked
 * first, so that a wait which is made at the same moment either sees the record itself or is seen here.
 *
 * @returns what was received, by stream
 */
export async function tellInputWaits(
  tx: Tx,
  environmentId: Uuid<"env">,
  streamIds: readonly Uuid<"strm">[],
  now: number,
): Promise<Map<Uuid<"strm">, ReadonlySet<number>>> {
  if (streamIds.length === 0) return new Map();
  await lockStreams(
    tx,
    streamIds.map((id) => ({ environmentId, id })),
  );
  const received = await settleInputWaits(tx, environmentId, streamIds, now);
  return new Map(
    [...Map.groupBy(received, ({ streamId }) => streamId)].map(([id, records]) => [
      id,
      new Set(records.map(({ sequence }) => sequence)),
    ]),
  );
}
