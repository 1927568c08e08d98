import { sseFrame, type Uuid } from "@keelson/contract";
import type { RecordRow } from "../../../core/streams/stream.ts";
import { recordJson } from "./wire.ts";

/** What a follower takes in one read; its socket paces the next. */
export const RECORDS_PER_READ = 200;
export const BYTES_PER_READ = 128 * 1024;

/** Followers of the same records of a stream share one feed. */
export const recordsKey = (
  streamId: Uuid<"strm">,
  sessionId: Uuid<"sess">,
  correlationId: string | null,
): string => `records ${streamId} ${sessionId} ${correlationId ?? ""}`;

/** As a gap of any feed, with the name of the stream, of which there can be several. */
export const recordGapFrame = (stream: string, earliest: number): string =>
  sseFrame("gap", String(earliest), JSON.stringify({ stream, earliest_cursor: String(earliest) }));

export const toFrames = (sessionId: Uuid<"sess">, name: string, records: readonly RecordRow[]): Buffer =>
  Buffer.from(
    records
      .map((record) => sseFrame("record", String(record.sequence), recordJson(sessionId, name, record)))
      .join(""),
  );
