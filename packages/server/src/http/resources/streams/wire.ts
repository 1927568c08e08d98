import { encodeId, type InputDisposition, type Stream, type Uuid } from "@keelson/contract";
import type { RecordRow } from "../../../core/streams/stream.ts";
import type { StreamRow } from "../../../core/streams/stream-reads.ts";
import { toTimestamp } from "../../edge/time.ts";

const text = JSON.stringify;

export const toStream = (stream: StreamRow): Stream => ({
  id: encodeId("strm", stream.id),
  session_id: encodeId("sess", stream.sessionId),
  name: stream.name,
  direction: stream.direction,
  last_sequence: stream.lastSequence,
  created_at: toTimestamp(stream.createdAt),
});

const textOrNull = (value: string | null): string => (value === null ? "null" : text(value));

let lastSession = "";
let lastSessionId = "";

/** The records of a page or of an append are of one session: the last one is asked for again. */
function sessionIdOf(sessionId: Uuid<"sess">): string {
  if (sessionId === lastSession) return lastSessionId;
  lastSessionId = encodeId("sess", sessionId);
  lastSession = sessionId;
  return lastSessionId;
}

/** A record as JSON text: its data goes out as it is stored. */
export const recordJson = (sessionId: Uuid<"sess">, stream: string, record: RecordRow): string =>
  `{"id":"${encodeId("rec", record.id)}","session_id":"${sessionIdOf(sessionId)}","stream":${text(stream)}` +
  `,"sequence":${record.sequence},"data":${record.data},"content_type":${textOrNull(record.contentType)}` +
  `,"correlation_id":${textOrNull(record.correlationId)}` +
  `,"message_id":${record.messageId === null ? "null" : `"${encodeId("msg", record.messageId)}"`}` +
  `,"source":{"kind":"${record.sourceKind}","id":${textOrNull(record.sourceId)}}` +
  `,"run_id":${record.runId === null ? "null" : `"${encodeId("run", record.runId)}"`}` +
  `,"attempt_number":${record.attemptNumber ?? "null"},"created_at":"${toTimestamp(record.createdAt)}"` +
  // Few records have them, and pieces of messages are many: the others do without.
  (record.steer === true ? `,"steer":true` : "") +
  `${record.withdrawnAt === null ? "" : `,"withdrawn_at":"${toTimestamp(record.withdrawnAt)}"`}}`;

/** A record as the answer to whoever sent it; `disposition` is null where there is none to tell. */
export function sentRecordJson(
  sessionId: Uuid<"sess">,
  stream: string,
  record: RecordRow,
  disposition: InputDisposition | null,
): string {
  const json = recordJson(sessionId, stream, record);
  return disposition === null ? json : `${json.slice(0, -1)},"disposition":"${disposition}"}`;
}
