import { encodeId, type Stream } from "@keelson/contract";
import type { RecordRow } from "../../core/streams/stream.ts";
import type { StreamRow } from "../../core/streams/stream-reads.ts";
import { toTimestamp } from "./time.ts";

const text = JSON.stringify;

export const toStream = (stream: StreamRow): Stream => ({
  id: encodeId("strm", stream.id),
  session_id: encodeId("sess", stream.sessionId),
  name: stream.name,
  direction: stream.direction,
  last_sequence: stream.lastSequence,
  created_at: toTimestamp(stream.createdAt),
});

/** A record as JSON text: its data goes out as it is stored. */
export const recordJson = (sessionId: string, stream: string, record: RecordRow): string =>
  `{"id":"${encodeId("rec", record.id)}","session_id":"${encodeId("sess", sessionId)}","stream":${text(stream)}` +
  `,"sequence":${record.sequence},"data":${record.data},"content_type":${text(record.contentType)}` +
  `,"correlation_id":${text(record.correlationId)}` +
  `,"source":{"kind":"${record.sourceKind}","id":${text(record.sourceId)}}` +
  `,"run_id":${text(record.runId === null ? null : encodeId("run", record.runId))}` +
  `,"attempt_number":${record.attemptNumber ?? "null"},"created_at":"${toTimestamp(record.createdAt)}"}`;
