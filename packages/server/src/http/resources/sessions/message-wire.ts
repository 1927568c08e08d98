import { encodeId, type Uuid } from "@keelson/contract";
import type { MessagePlace, MessageRow } from "../../../core/streams/message-reads.ts";
import { toTimestamp } from "../../edge/time.ts";

const text = JSON.stringify;

const timeJson = (time: number | null): string => (time === null ? "null" : `"${toTimestamp(time)}"`);

/** A message as JSON text: its data is stored as JSON text and goes out as it is. */
export const messageJson = (message: MessageRow): string =>
  `{"id":"${encodeId("msg", message.id)}","session_id":"${encodeId("sess", message.sessionId)}","stream":${text(message.name)}` +
  `,"status":"${message.status}","run_id":"${encodeId("run", message.runId)}","attempt_number":${message.attemptNumber}` +
  `,"correlation_id":${text(message.correlationId)},"first_sequence":${message.firstSequence},"last_sequence":${message.lastSequence}` +
  `,"data":${message.data ?? "null"},"interrupt_requested_at":${timeJson(message.interruptRequestedAt)},"created_at":"${toTimestamp(message.createdAt)}"` +
  `,"ended_at":${timeJson(message.endedAt)}}`;

/** A message's place in a list: when it was made, where it begins in its stream, and its id. */
export const MESSAGE_KEY = {
  of: ({ createdAt, firstSequence, id }: MessageRow): string => `${createdAt}:${firstSequence}:${id}`,
  pattern: /^[0-9]{1,15}:[0-9]{1,15}:[0-9a-f-]{36}$/,
};

export function messagePlaceOf(key: string | null): MessagePlace | null {
  if (key === null) return null;
  const [createdAt, firstSequence, id] = key.split(":");
  return { createdAt: Number(createdAt), firstSequence: Number(firstSequence), id: id as Uuid<"msg"> };
}
