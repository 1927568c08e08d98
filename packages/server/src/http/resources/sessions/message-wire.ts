import { encodeId } from "@keelson/contract";
import type { MessageRow } from "../../../core/streams/message-reads.ts";
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
