import type { Uuid } from "@keelson/contract";
import type { PlacedAppend, RecordRow, StreamKey } from "../../../core/streams/stream.ts";
import type { ServerContext } from "../../../server-context.ts";
import { BYTES_PER_READ, RECORDS_PER_READ, recordsKey, toFrames } from "./record-frames.ts";

/** The records of an append as a read would give them. */
export const rowsOf = (
  { append, firstSequence }: Omit<PlacedAppend, "streamId">,
  steer: boolean,
): RecordRow[] =>
  append.records.map(({ id, data, contentType, correlationId }, index) => ({
    ...{ id, data, contentType, correlationId, steer },
    sequence: firstSequence + index,
    sourceKind: append.source.kind,
    sourceId: append.source.id,
    runId: append.source.runId,
    attemptNumber: append.source.attemptNumber,
    messageId: append.source.messageId,
    createdAt: append.at,
    withdrawnAt: null,
  }));

/** Followers at the tip need not read what is in memory here; more than one read would give is left to be read. */
export function offerRecords(
  { feeds }: Pick<ServerContext, "feeds">,
  { sessionId, name }: Pick<StreamKey, "sessionId" | "name">,
  streamId: Uuid<"strm">,
  rows: readonly RecordRow[],
): void {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return;
  if (rows.length > RECORDS_PER_READ || sizeOf(rows) > BYTES_PER_READ) return;
  feeds.offer(recordsKey(streamId, sessionId, null), first.sequence - 1, last.sequence, () =>
    toFrames(sessionId, name, rows),
  );
}

const sizeOf = (rows: readonly RecordRow[]): number => rows.reduce((sum, { data }) => sum + data.length, 0);

/** What one transaction has appended to output streams: of each stream it is offered together, as it was numbered together. */
export function offerAppends(server: Pick<ServerContext, "feeds">, appended: readonly PlacedAppend[]): void {
  for (const [streamId, appends] of Map.groupBy(appended, (placed) => placed.streamId)) {
    const inOrder = appends.toSorted((a, b) => a.firstSequence - b.firstSequence);
    const rows = inOrder.flatMap((placed) => rowsOf(placed, false));
    offerRecords(server, (appends[0] as PlacedAppend).append, streamId, rows);
  }
}
