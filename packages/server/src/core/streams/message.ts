import {
  encodeId,
  MESSAGE_CONTENT_TYPE,
  type MessageEnd,
  type TerminalRunStatus,
  type Uuid,
} from "@keelson/contract";
import type { NewUuid } from "../../uuid.ts";
import type { NewRecord } from "./stream.ts";

/** What a run writes to a stream in pieces. It begins with its first piece, and ends once, whatever ends it. */
export type MessageKey = { environmentId: Uuid<"env">; id: Uuid<"msg"> };

export type OpenMessage = MessageKey & {
  sessionId: Uuid<"sess">;
  streamId: Uuid<"strm">;
  /** Of the stream. */
  name: string;
  runId: Uuid<"run">;
  attemptNumber: number;
  /** Of the lease under which it began. */
  epoch: number;
  correlationId: string | null;
  /** Names the call of the code that writes it, the same in each attempt; null from SDKs that do not say. */
  call: string | null;
  /** It goes on over attempts, and its pieces come in parts. */
  spans: boolean;
  /** Somebody has asked for its end. */
  isInterrupted: boolean;
};

export type NewMessage = Omit<OpenMessage, "name" | "isInterrupted"> & { firstSequence: number; at: number };

/** Which message is ended. `data`: JSON text that is kept of it in the place of its pieces; null keeps those. */
export type MessageEnding = MessageKey & { runId: Uuid<"run">; spans: boolean; data: string | null };

/** `lastSequence`: of the last record before the one that tells of the end. */
export type EndedMessage = MessageEnding & {
  status: MessageEnd;
  lastSequence: number;
  at: number;
};

/** What is to be written of a message with an append. `append`: with which of them. */
export type PendingMessage = { append: number } & (
  | { begins: Omit<NewMessage, "streamId" | "firstSequence"> }
  | { ends: MessageEnding; status: MessageEnd }
  | { part: MessageKey & { call: string } }
  | { voids: MessagePart }
);

/**
 * What one try of a step wrote to a message that spans. `call` names the step and which of its parts it is. It goes up to
 * `lastSequence`, or, when that is null, as far as its message goes.
 */
export type MessagePart = MessageKey & { call: string; firstSequence: number; lastSequence: number | null };

/** How a message ends that nobody goes on with. */
export const endOfLeft = ({ isInterrupted }: Pick<OpenMessage, "isInterrupted">): MessageEnd =>
  isInterrupted ? "interrupted" : "failed";

/** How a message ends that its run left open. */
export const endWithRun = (message: OpenMessage, status: TerminalRunStatus): MessageEnd =>
  status === "cancelled" ? "interrupted" : endOfLeft(message);

type Told = Pick<OpenMessage, "id" | "correlationId">;

/** What tells readers of the stream something of a message: whoever follows it sees no row. */
const tell = ({ id, correlationId }: Told, event: string, rest: string, newUuid: NewUuid): NewRecord => ({
  id: newUuid<"rec">(),
  data: `{"event":"${event}","message_id":"${encodeId("msg", id)}"${rest}}`,
  contentType: MESSAGE_CONTENT_TYPE,
  correlationId,
});

/** It is about to be written. */
export const startRecord = (message: Told, newUuid: NewUuid): NewRecord =>
  tell(message, "started", "", newUuid);

/** Its pieces from there to there count no more, or to this record when there is no end. */
export const voidRecord = (
  message: Told,
  { firstSequence, lastSequence }: MessagePart,
  newUuid: NewUuid,
): NewRecord =>
  tell(message, "voided", `,"from_sequence":${firstSequence},"to_sequence":${lastSequence}`, newUuid);

export const endRecord = (message: Told, status: MessageEnd, newUuid: NewUuid): NewRecord =>
  tell(message, "ended", `,"status":"${status}"`, newUuid);
