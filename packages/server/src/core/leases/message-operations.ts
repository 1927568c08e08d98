import { decodeId, type Uuid } from "@keelson/contract";
import { endAppend } from "../streams/end-open-messages.ts";
import { endOfLeft, type OpenMessage } from "../streams/message.ts";
import type { Append } from "../streams/stream.ts";
import type { StreamRow } from "../streams/stream-reads.ts";
import type { Change } from "../executions/execution.ts";
import { OK, refuse, type Batch, type LeasedContent, type OperationOutcome } from "./report-batch.ts";

/** What an `outputs` operation says of a message. */

type Outputs = Extract<LeasedContent, { kind: "outputs" }>;
type Said = { messageId: Uuid<"msg"> | null };
type Piece = Append & { messageId: Uuid<"msg">; streamId: Uuid<"strm"> };

/** What pieces of a message answer that nobody takes any more: it was interrupted, and was ended in the place of its code. */
const ENDED: OperationOutcome = {
  ok: true,
  value: { kind: "effect", entry: "output", value: '{"ended":true}', error: null },
};

const openOf = ({ facts }: Batch, { execution }: Change): OpenMessage[] =>
  facts.openMessages.get(execution.runId) ?? [];

/** The message of an operation; or what it answers where none of it is taken. */
export function messageOf(
  batch: Batch,
  change: Change,
  operation: Outputs,
  stream: Pick<StreamRow, "id" | "fenced">,
): Said | OperationOutcome {
  const { message, message_id: older, records } = operation;
  const { id = older, begins, ends } = message ?? {};
  if (records.length === 0 && (ends === undefined || begins === true))
    return refuse(
      "invalid_request",
      "records: give at least one; only the end of a message comes without any.",
    );
  if (id === undefined) return { messageId: null };
  const messageId = decodeId("msg", id);
  if (messageId === null) return refuse("invalid_request", "message.id: is no id of a message.");
  const isOpen = openOf(batch, change).some((one) => one.id === messageId);
  const isKnown = begins === true || isOpen;
  if (message !== undefined && !isKnown && stream.fenced) return ENDED;
  const { runId } = change.execution;
  if (begins === true && batch.facts.interruptedCalls.get(runId)?.has(message?.call ?? "")) {
    endLeftOnes(batch, change);
    const { environmentId } = change.execution;
    batch.fenced.push({ environmentId, streamId: stream.id });
    // Its code may have sent more of it already.
    stream.fenced = true;
    return ENDED;
  }
  if (begins === true && isOpen) return refuse("invalid_state", "The message has begun already.");
  if (ends !== undefined && !isKnown)
    return refuse("invalid_state", "The message has not begun, or has ended.");
  return { messageId };
}

/** What an operation answers again that was applied before: of a message that was ended without its code, that it was. */
export function repeatedMessage({ facts }: Batch, { message }: Outputs): OperationOutcome {
  const id = message === undefined ? null : decodeId("msg", message.id);
  return id !== null && facts.endedMessages.has(id) ? ENDED : OK;
}

/** Pieces of a message, with what they begin and end. */
export function writeMessage(batch: Batch, change: Change, piece: Piece, operation: Outputs): void {
  const { begins, ends } = operation.message ?? {};
  const { messageId: id, streamId, ...append } = piece;
  const { environmentId, sessionId, name } = append;
  const { runId, attemptNumber, epoch } = change.execution;
  if (begins === true) {
    endLeftOnes(batch, change);
    const correlationId = append.records[0]?.correlationId ?? null;
    const call = operation.message?.call ?? null;
    const message = { environmentId, id, sessionId, runId, attemptNumber, epoch, correlationId, call };
    batch.messages.push({ append: batch.appends.length, begins: { ...message, at: batch.now } });
    batch.facts.openMessages.set(runId, [
      ...openOf(batch, change),
      { ...message, streamId, name, isInterrupted: false },
    ]);
  }
  if (append.records.length > 0) batch.appends.push(append);
  const message = openOf(batch, change).find((one) => one.id === id);
  if (ends !== undefined && message !== undefined) end(batch, message, ends);
}

/** What was begun under an earlier lease: its worker was lost, and nobody goes on with it. */
function endLeftOnes(batch: Batch, change: Change): void {
  for (const message of openOf(batch, change))
    if (message.epoch < change.execution.epoch) end(batch, message, endOfLeft(message));
}

function end(batch: Batch, message: OpenMessage, status: "complete" | "failed" | "interrupted"): void {
  const { environmentId, id, runId } = message;
  batch.messages.push({ append: batch.appends.length, ends: { environmentId, id, runId }, status });
  batch.appends.push(endAppend(message, status, batch));
  const open = batch.facts.openMessages.get(runId) ?? [];
  batch.facts.openMessages.set(
    runId,
    open.filter((one) => one.id !== id),
  );
}
