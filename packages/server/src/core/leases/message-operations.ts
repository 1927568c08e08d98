import { decodeId, LIMITS, type Uuid } from "@keelson/contract";
import { endAppend } from "../streams/end-open-messages.ts";
import {
  endOfLeft,
  startRecord,
  voidRecord,
  type MessagePart,
  type OpenMessage,
} from "../streams/message.ts";
import { prepareRecords } from "../streams/prepare-records.ts";
import { keyOfStream, type Append, type NewRecord, type StreamKey } from "../streams/stream.ts";
import type { StreamRow } from "../streams/stream-reads.ts";
import type { Change } from "../executions/execution.ts";
import { OK, refuse, type Batch, type LeasedContent, type OperationOutcome } from "./report-batch.ts";

/** What an `outputs` operation says of a message. */

type Outputs = Extract<LeasedContent, { kind: "outputs" }>;
type Piece = Append & { messageId: Uuid<"msg">; streamId: Uuid<"strm"> };
type MessageStream = Pick<StreamRow, "id" | "fenced">;

/** What is to be done with an operation. */
export type MessageDecision =
  | { kind: "refuse"; outcome: OperationOutcome }
  /** Nothing of its message is taken any more. `isAgain`: an attempt that came later begins what was interrupted. */
  | { kind: "ended"; isAgain: boolean }
  | { kind: "take"; messageId: Uuid<"msg"> | null };

const ENDED_RESULT = { kind: "effect", entry: "output", value: '{"ended":true}', error: null } as const;

/** What pieces of a message answer that nobody takes any more: it was interrupted, and was ended in the place of its code. */
export const ENDED: OperationOutcome = { ok: true, value: ENDED_RESULT };

const openOf = ({ facts }: Batch, { execution }: Change): OpenMessage[] =>
  facts.openMessages.get(execution.runId) ?? [];

const refusal = (message: string): MessageDecision => ({
  kind: "refuse",
  outcome: refuse("invalid_request", message),
});
const outOfState = (message: string): MessageDecision => ({
  kind: "refuse",
  outcome: refuse("invalid_state", message),
});

/** What is wrong with what it says, whatever is stored; null when nothing is. */
function problemOf({ message, records, position }: Outputs): string | null {
  const { begins = false, ends, spans, part, voids, data } = message ?? {};
  if (spans === true && (!begins || ends !== undefined || records.length > 0 || position === null))
    return "message.spans: it begins by a call of its own, without records.";
  if (voids !== undefined && (records.length > 0 || begins || ends !== undefined || part !== undefined))
    return "message.voids: goes alone.";
  if (part !== undefined && (begins || records.length === 0))
    return "message.part: begins with records, in a message that has begun.";
  if (data !== undefined && ends === undefined) return "message.data: goes with ends.";
  const isEmpty = records.length === 0 && spans !== true && voids === undefined;
  if (isEmpty && (ends === undefined || begins))
    return "records: give at least one; only the end of a message comes without any.";
  return null;
}

/** Decides on what an operation says of a message. */
export function decideMessage(
  batch: Batch,
  change: Change,
  operation: Outputs,
  stream: MessageStream,
): MessageDecision {
  const problem = problemOf(operation);
  if (problem !== null) return refusal(problem);
  const { message, message_id: older, position } = operation;
  const { id = older, begins = false, ends, part, voids } = message ?? {};
  if (id === undefined) return { kind: "take", messageId: null };
  const messageId = decodeId("msg", id);
  if (messageId === null) return refusal("message.id: is no id of a message.");
  if (
    message?.data !== undefined &&
    Buffer.byteLength(JSON.stringify(message.data)) > LIMITS.journalValueBytes
  )
    return {
      kind: "refuse",
      outcome: refuse(
        "payload_too_large",
        `message.data: is more than ${LIMITS.journalValueBytes} bytes of JSON. Store it elsewhere.`,
      ),
    };
  const open = openOf(batch, change).find((one) => one.id === messageId);
  const isOfParts = part !== undefined || voids !== undefined || (ends !== undefined && position !== null);
  if (isOfParts && open === undefined) return { kind: "ended", isAgain: false };
  if (isOfParts && open?.spans !== true)
    return outOfState("The message is of one piece of code: it has no parts, and ends with its pieces.");
  if (message !== undefined && !begins && open === undefined && stream.fenced)
    return { kind: "ended", isAgain: false };
  const interrupted = batch.facts.interruptedCalls.get(change.execution.runId);
  if (begins && interrupted?.has(message?.call ?? "") === true) return { kind: "ended", isAgain: true };
  if (begins && open !== undefined) return outOfState("The message has begun already.");
  if (ends !== undefined && !begins && open === undefined)
    return outOfState("The message has not begun, or has ended.");
  return { kind: "take", messageId };
}

/** An attempt begins again what was interrupted: what was left of it ends, and nothing of it is taken. */
export function keepFromBeginning(batch: Batch, change: Change, stream: MessageStream): void {
  endLeftOnes(batch, change);
  const { environmentId } = change.execution;
  batch.fenced.push({ environmentId, streamId: stream.id });
  // Its code may have sent more of it already.
  stream.fenced = true;
}

/** The records of an operation: those of the code, or what tells readers of a message that spans. Throws what is wrong with the code's. */
export function recordsOf(batch: Batch, change: Change, operation: Outputs): NewRecord[] {
  const { message, records } = operation;
  const id = message === undefined ? null : decodeId("msg", message.id);
  if (id === null || message === undefined) return prepareRecords({ records }, batch.newUuid);
  if (message.spans === true)
    return [startRecord({ id, correlationId: message.correlation_id ?? null }, batch.newUuid)];
  if (message.voids === undefined) return prepareRecords({ records }, batch.newUuid);
  const told = {
    id,
    correlationId: openOf(batch, change).find((one) => one.id === id)?.correlationId ?? null,
  };
  return partsBy(batch, id, message.voids).map((part) => voidRecord(told, part, batch.newUuid));
}

/** The parts of a message that tries of a step wrote. */
const partsBy = ({ facts }: Batch, id: Uuid<"msg">, step: string) =>
  (facts.parts.get(id) ?? []).filter(({ call }) => call.startsWith(`${step}:`));

/** What the journal has of it: null of all that is no message that spans. */
export function journalValueOf({ message }: Outputs): string | null {
  if (message?.spans === true) return `{"message_id":"${message.id}"}`;
  return message?.ends === undefined ? null : JSON.stringify({ status: message.ends });
}

/** As `journalValueOf`, of a message that was ended without its code. */
export const INTERRUPTED_VALUE = JSON.stringify({ status: "interrupted" });

/** What an operation answers again that was applied before: of a message that was ended without its code, that it was. */
export function repeatedMessage({ facts }: Batch, { message }: Outputs): OperationOutcome {
  const id = message === undefined ? null : decodeId("msg", message.id);
  return id !== null && facts.endedMessages.has(id) ? ENDED : OK;
}

/** Pieces of a message, with what they begin and end. */
export function writeMessage(batch: Batch, change: Change, piece: Piece, { message }: Outputs): void {
  const { messageId: id, streamId: _, ...append } = piece;
  const { environmentId } = append;
  if (message?.begins === true) begin(batch, change, piece, message);
  const at = batch.appends.length;
  if (message?.part !== undefined) {
    const part = { environmentId, id, call: message.part };
    batch.messages.push({ append: at, part });
    beginPart(batch, part, nextSequence(batch, append));
  }
  if (message?.voids !== undefined) {
    const parts = partsBy(batch, id, message.voids);
    for (const voids of parts) batch.messages.push({ append: at, voids });
    const left = (batch.facts.parts.get(id) ?? []).filter((part) => !parts.includes(part));
    batch.facts.parts.set(id, left);
  }
  if (append.records.length > 0) batch.appends.push(append);
  const open = openOf(batch, change).find((one) => one.id === id);
  if (message?.ends === undefined || open === undefined) return;
  end(batch, open, message.ends, message.data === undefined ? null : JSON.stringify(message.data));
  settleWaits(batch, open);
}

/** Where the next record of a stream will be, which is locked and takes all that a live run appends. */
function nextSequence({ facts, appends }: Batch, key: StreamKey): number {
  const name = keyOfStream(key);
  const last = facts.streams.get(name)?.lastSequence ?? 0;
  return appends.reduce(
    (at, append) => at + (keyOfStream(append) === name ? append.records.length : 0),
    last + 1,
  );
}

/** Operations of the same report may be about the part that it follows. */
function beginPart(
  { facts }: Batch,
  part: Omit<MessagePart, "firstSequence" | "lastSequence">,
  at: number,
): void {
  const before = facts.parts.get(part.id);
  // Where no operation is about parts, they were not read.
  if (before === undefined) return;
  const ended = before.map((one) => (one.lastSequence === null ? { ...one, lastSequence: at - 1 } : one));
  facts.parts.set(part.id, [...ended, { ...part, firstSequence: at, lastSequence: null }]);
}

function begin(batch: Batch, change: Change, piece: Piece, said: NonNullable<Outputs["message"]>): void {
  endLeftOnes(batch, change);
  const { messageId: id, streamId, environmentId, sessionId, name, records } = piece;
  const { runId, attemptNumber, epoch } = change.execution;
  const message = {
    ...{ environmentId, id, sessionId, runId, attemptNumber, epoch },
    correlationId: records[0]?.correlationId ?? null,
    call: said.call ?? null,
    spans: said.spans === true,
  };
  batch.messages.push({ append: batch.appends.length, begins: { ...message, at: batch.now } });
  const open = { ...message, streamId, name, isInterrupted: false };
  batch.facts.openMessages.set(runId, [...openOf(batch, change), open]);
}

/** What was begun under an earlier lease: its worker was lost, and nobody goes on with it but with what spans. */
function endLeftOnes(batch: Batch, change: Change): void {
  for (const message of openOf(batch, change))
    if (message.epoch < change.execution.epoch && !message.spans) end(batch, message, endOfLeft(message));
}

function end(
  batch: Batch,
  message: OpenMessage,
  status: "complete" | "failed" | "interrupted",
  data: string | null = null,
): void {
  const { environmentId, id, runId, spans } = message;
  const ends = { environmentId, id, runId, spans, data };
  batch.messages.push({ append: batch.appends.length, ends, status });
  batch.appends.push(endAppend(message, status, batch));
  const open = batch.facts.openMessages.get(runId) ?? [];
  batch.facts.openMessages.set(
    runId,
    open.filter((one) => one.id !== id),
  );
}

/** Nobody is to be told any more when somebody interrupts it. */
function settleWaits({ facts, settledWaits }: Batch, { environmentId, runId, id }: OpenMessage): void {
  for (const wait of facts.openWaits.get(runId)?.values() ?? []) {
    if (wait.messageId !== id || wait.status !== "pending") continue;
    wait.status = "resolved";
    settledWaits.push({ environmentId, runId, position: wait.position, status: "resolved" });
  }
}
