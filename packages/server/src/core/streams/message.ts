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
  /** Somebody has asked for its end. */
  isInterrupted: boolean;
};

export type NewMessage = Omit<OpenMessage, "name" | "isInterrupted"> & { firstSequence: number; at: number };

/** `lastSequence`: of the last record before the one that tells of the end. */
export type EndedMessage = MessageKey & {
  runId: Uuid<"run">;
  status: MessageEnd;
  lastSequence: number;
  at: number;
};

/** What is to be written of a message with an append. `append`: with which of them. */
export type PendingMessage = { append: number } & (
  | { begins: Omit<NewMessage, "streamId" | "firstSequence"> }
  | { ends: MessageKey & { runId: Uuid<"run"> }; status: MessageEnd }
);

/** How a message ends that nobody goes on with. */
export const endOfLeft = ({ isInterrupted }: Pick<OpenMessage, "isInterrupted">): MessageEnd =>
  isInterrupted ? "interrupted" : "failed";

/** How a message ends that its run left open. */
export const endWithRun = (message: OpenMessage, status: TerminalRunStatus): MessageEnd =>
  status === "cancelled" ? "interrupted" : endOfLeft(message);

/** What tells readers of the stream that a message has ended: whoever follows it sees no row. */
export const endRecord = (
  { id, correlationId }: Pick<OpenMessage, "id" | "correlationId">,
  status: MessageEnd,
  newUuid: NewUuid,
): NewRecord => ({
  id: newUuid<"rec">(),
  data: `{"event":"ended","message_id":"${encodeId("msg", id)}","status":"${status}"}`,
  contentType: MESSAGE_CONTENT_TYPE,
  correlationId,
});
