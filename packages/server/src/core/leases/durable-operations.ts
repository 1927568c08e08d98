import {
  decodeId,
  LIMITS,
  parseDuration,
  type Uuid,
  type WaitKind,
  type WaitStatus,
} from "@keelson/contract";
import { MAX_DELAY_MS } from "../runs/retry-policy.ts";
import { decidePark, decideUnpark } from "../runs/run.ts";
import { toStoredEvent } from "../run-events/run-event.ts";
import { keyOfStream, nextSequence } from "../streams/stream.ts";
import { isWaitedFor, type NewWait } from "../waits/wait.ts";
import type { OpenWait } from "../waits/wait-source-reads.ts";
import { applyDecision, liveRun, type Change, type NewJournalEntry } from "../executions/execution.ts";
import { type LeasedContent, OK, refuse, type Batch, type OperationOutcome } from "./report-batch.ts";

/** The operations by which a run becomes durable. Each is decided on the copies in memory, as all others are. */

type Of<K extends LeasedContent["kind"]> = Extract<LeasedContent, { kind: K }>;
type Entry = Pick<NewJournalEntry, "position" | "place" | "kind" | "name" | "value" | "error">;

/** What a row of the journal costs besides its texts. */
const ENTRY_BYTES = 64;

/** Why these entries cannot be kept; null when there is room for all of them. */
function journalRefusal({ execution }: Change, entries: readonly Entry[]): OperationOutcome | null {
  let bytes = execution.journalBytes;
  for (const entry of entries) {
    const size = Buffer.byteLength(entry.value ?? "") + Buffer.byteLength(entry.error ?? "");
    bytes += size + Buffer.byteLength(entry.name) + ENTRY_BYTES;
    if (size > LIMITS.journalValueBytes) {
      return refuse(
        "payload_too_large",
        `The outcome of "${entry.name}" is ${size} bytes of JSON; ${LIMITS.journalValueBytes} are kept. Store it elsewhere and return where it is.`,
      );
    }
  }
  if (execution.journalSequence + entries.length > LIMITS.journalEntries) {
    return refuse(
      "payload_too_large",
      `The run has made ${LIMITS.journalEntries} durable calls, the most that its journal holds. Call ctx.continueAs() before that: the run then continues with an empty journal. Or do the rest in child runs.`,
    );
  }
  if (bytes <= LIMITS.journalBytes) return null;
  return refuse(
    "payload_too_large",
    `The outcomes of the run's durable calls would be over ${LIMITS.journalBytes} bytes, the most that its journal holds. Return references to large data, or call ctx.continueAs() before that: the run then continues with an empty journal.`,
  );
}

/** Puts entries into the run's journal, all of them, or says why there is no room. */
export function enterJournal(
  batch: Batch,
  change: Change,
  entries: readonly Entry[],
): OperationOutcome | null {
  const refused = journalRefusal(change, entries);
  if (refused !== null) return refused;
  const { execution } = change;
  for (const { position, place, kind, name, value, error } of entries) {
    execution.journalBytes +=
      Buffer.byteLength(value ?? "") + Buffer.byteLength(error ?? "") + Buffer.byteLength(name) + ENTRY_BYTES;
    execution.journalSequence += 1;
    const { environmentId, runId, journalSequence: sequence, attemptNumber } = execution;
    const at = batch.now;
    batch.journal.push({
      environmentId,
      runId,
      sequence,
      position,
      place,
      kind,
      name,
      value,
      error,
      attemptNumber,
      at,
    });
  }
  change.durable = true;
  return null;
}

/** The code does something, so it does not only wait. */
export function goOn(batch: Batch, change: Change): void {
  const decision = decideUnpark(change.execution.status);
  if (decision.kind !== "refuse") applyDecision(change, decision, batch.now);
}

function openWaitsOf({ facts }: Batch, runId: Uuid<"run">): Map<number, OpenWait> {
  const open = facts.openWaits.get(runId) ?? new Map<number, OpenWait>();
  facts.openWaits.set(runId, open);
  return open;
}

type StepEntry = Of<"steps">["entries"][number];

/** Of a call that the server did not take: the error is the refusal. */
const isOfRefusedCall = ({ error }: StepEntry): boolean => (error?.code ?? null) !== null;

/** Why an entry cannot be, null when it can. */
function entryRefusal(entry: StepEntry, wait: OpenWait | undefined): OperationOutcome | null {
  const { position, kind } = entry;
  if (kind === "step" || kind === "value") return null;
  if (isOfRefusedCall(entry))
    return wait === undefined
      ? null
      : refuse("invalid_state", `The wait at position ${position} is there: it was not refused.`);
  if (kind !== "wait")
    return refuse(
      "invalid_request",
      `entries: a ${kind} at position ${position} needs an error with a code, as of a call that was refused.`,
    );
  return wait === undefined || wait.status === "pending"
    ? refuse("invalid_state", `The wait at position ${position} has not settled, or is accepted already.`)
    : null;
}

export function performSteps(batch: Batch, change: Change, { entries }: Of<"steps">): OperationOutcome {
  const { environmentId, runId } = change.execution;
  const open = openWaitsOf(batch, runId);
  for (const entry of entries) {
    const refused = entryRefusal(entry, open.get(entry.position));
    if (refused !== null) return refused;
  }
  const refused = enterJournal(
    batch,
    change,
    entries.map((entry) => ({
      ...entry,
      place: entry.place ?? null,
      value: entry.value === undefined ? null : JSON.stringify(entry.value),
      error: entry.error ? JSON.stringify(entry.error) : null,
    })),
  );
  if (refused !== null) return refused;
  for (const entry of entries) {
    if (entry.kind !== "wait" || isOfRefusedCall(entry)) continue;
    batch.accepted.push({ environmentId, runId, position: entry.position });
    open.delete(entry.position);
  }
  goOn(batch, change);
  return OK;
}

export function performWaits(batch: Batch, change: Change, operation: Of<"waits">): OperationOutcome {
  const { execution } = change;
  const created: NewWait[] = [];
  for (const wait of operation.waits) {
    const made = makeWait(batch, change, wait, created);
    if ("ok" in made) return made;
    created.push(made);
  }
  const open = openWaitsOf(batch, execution.runId);
  for (const wait of created) {
    batch.waits.push(wait);
    // One that is there already stays as it is.
    if (!open.has(wait.position)) open.set(wait.position, wait);
    if (isWaitedFor(wait)) tellWait(batch, change, wait);
    if (wait.childRunId !== null) awaitEnd(batch, wait.childRunId);
  }
  giveUp(batch, change, operation.cancels ?? []);
  if (created.length > 0) {
    execution.waitCount += created.length;
    change.durable = true;
  }
  const isNews = [...open.values()].some(({ status }) => status !== "pending");
  if (!operation.parked) goOn(batch, change);
  else if (!isNews) {
    const decision = decidePark(execution.status);
    if (decision.kind === "refuse") return refuse("invalid_state", decision.message);
    applyDecision(change, decision, batch.now);
  }
  return OK;
}

/**
 * What has settled stays as it is, so that whoever gives up a wait gets its record or nobody does. What other calls have started is ended when
 * the report is written.
 */
function giveUp(batch: Batch, change: Change, positions: readonly number[]): void {
  const { environmentId, runId, attemptNumber } = change.execution;
  const open = openWaitsOf(batch, runId);
  for (const position of positions)
    if (!open.has(position)) batch.givenUp.push({ environmentId, runId, position });
  for (const wait of open.values()) {
    const { position, kind, name } = wait;
    if (!positions.includes(position) || wait.status !== "pending") continue;
    wait.status = "cancelled";
    batch.settledWaits.push({ environmentId, runId, position, status: "cancelled" });
    change.durable = true;
    if (kind === "message") continue;
    const event = { kind: "wait.cancelled", attributes: { kind, name, position } } as const;
    change.events.push(toStoredEvent(event, batch.now, attemptNumber));
  }
}

function tellWait({ now }: Batch, { execution, events }: Change, wait: NewWait & { kind: WaitKind }): void {
  const attributes = { kind: wait.kind, name: wait.name, position: wait.position };
  events.push(toStoredEvent({ kind: "wait.created", attributes }, now, execution.attemptNumber));
  if (wait.status === "resolved")
    events.push(toStoredEvent({ kind: "wait.resolved", attributes }, now, execution.attemptNumber));
}

/** The run is locked: from now on its end is told. That of a child is from the beginning, so that a fan-out need not write its children twice. */
function awaitEnd(batch: Batch, childRunId: Uuid<"run">): void {
  const child = batch.changes.get(childRunId);
  if (child === undefined || child.execution.endAwaited) return;
  child.execution.endAwaited = true;
  child.durable = true;
  child.dirty = true;
}

type WaitInput = Of<"waits">["waits"][number];

function makeWait(
  batch: Batch,
  { execution }: Change,
  input: WaitInput,
  created: readonly NewWait[],
): NewWait | OperationOutcome {
  const { environmentId, runId } = execution;
  const timeoutAt = timeoutOf(input, batch.now);
  if (timeoutAt === undefined)
    return refuse("invalid_request", "timeout, timeout_at: give one of them, at most ten years ahead.");
  const wait: NewWait = {
    environmentId,
    runId,
    position: input.position,
    place: input.place ?? null,
    id: batch.newUuid(),
    name: input.name,
    kind: input.kind,
    status: "pending",
    tokenId: null,
    streamId: null,
    recordSequence: null,
    childRunId: null,
    messageId: null,
    timeoutAt,
    at: batch.now,
  };
  switch (input.kind) {
    case "timer":
      if (timeoutAt === null)
        return refuse("invalid_request", "timeout: required, or timeout_at, for a timer.");
      return timeoutAt <= batch.now ? { ...wait, status: "resolved" } : wait;
    case "token": {
      const tokenId = decodeId("tok", input.token_id ?? "");
      const isNew = batch.tokens.some(({ id }) => id === tokenId);
      const status = isNew ? "pending" : batch.facts.tokens.get(`${environmentId} ${tokenId}`);
      if (tokenId === null || status === undefined)
        return refuse("not_found", "The token does not exist in this environment.");
      return { ...wait, tokenId, status: status === "pending" ? "pending" : "resolved" };
    }
    case "input":
      return makeInputWait(batch, wait, input, created);
    case "run":
      return makeRunWait(batch, wait, input);
    case "message":
      return makeMessageWait(batch, wait, input);
  }
}

/** Undefined when it cannot be used. */
function timeoutOf({ timeout, timeout_at: timeoutAt }: WaitInput, now: number): number | null | undefined {
  if (timeout !== undefined && timeoutAt !== undefined) return undefined;
  if (timeoutAt !== undefined) {
    const at = Date.parse(timeoutAt);
    return Number.isNaN(at) || at - now > MAX_DELAY_MS ? undefined : at;
  }
  if (timeout === undefined) return null;
  const ms = parseDuration(timeout);
  return ms === null || ms > MAX_DELAY_MS ? undefined : now + ms;
}

/** Its record is for another wait. */
const takesNothing = (status: WaitStatus): boolean => status === "timed_out" || status === "cancelled";

/** Waits for the first record that was neither received nor withdrawn, nor is waited for by another wait of the run. */
function makeInputWait(
  { facts }: Batch,
  wait: NewWait,
  input: WaitInput,
  created: readonly NewWait[],
): NewWait | OperationOutcome {
  const sessionId = facts.runs.get(wait.runId)?.sessionId ?? null;
  if (sessionId === null)
    return refuse("invalid_state", "The run belongs to no session, so it receives no input.");
  const key = { environmentId: wait.environmentId, sessionId, name: input.stream ?? "" };
  const stream = facts.streams.get(keyOfStream(key));
  if (stream === undefined) return refuse("invalid_request", "stream: required to wait for input.");
  if (stream.direction !== "input")
    return refuse("stream_direction_mismatch", `Stream "${stream.name}" is an output stream.`);
  const taken = [...(facts.openWaits.get(wait.runId)?.values() ?? []), ...created]
    .filter(({ streamId }) => streamId === stream.id)
    .map(({ status, recordSequence }) => (takesNothing(status) ? 0 : (recordSequence ?? 0)));
  const recordSequence = nextSequence(stream, Math.max(stream.receivedSequence, ...taken));
  const waiting = { ...wait, streamId: stream.id, recordSequence };
  if (recordSequence <= stream.lastSequence) return { ...waiting, status: "resolved" };
  return stream.gate !== "ended" ? waiting : { ...waiting, recordSequence: null, status: "resolved" };
}

function makeRunWait(batch: Batch, wait: NewWait, input: WaitInput): NewWait | OperationOutcome {
  const childRunId = decodeId("run", input.run_id ?? "");
  if (childRunId === null || childRunId === wait.runId)
    return refuse("not_found", "The run does not exist in this environment.");
  const isNew = batch.children.some(({ id }) => id === childRunId);
  const live = batch.changes.get(childRunId);
  if (isNew || (live?.execution.environmentId === wait.environmentId && live.ending === null))
    return { ...wait, childRunId };
  const ended = batch.ended.get(childRunId);
  if (ended?.environmentId === wait.environmentId || live?.ending !== undefined)
    return { ...wait, childRunId, status: "resolved" };
  return refuse("not_found", "The run does not exist in this environment.");
}

/** Resolved at once where the message was interrupted or has ended before. */
function makeMessageWait({ facts }: Batch, wait: NewWait, input: WaitInput): NewWait | OperationOutcome {
  const { environmentId, runId } = wait;
  const sessionId = facts.runs.get(runId)?.sessionId ?? null;
  const messageId = decodeId("msg", input.message_id ?? "");
  if (sessionId === null || messageId === null || input.stream === undefined)
    return refuse("invalid_request", "message_id, stream: required to hear of a message of the session.");
  const stream = facts.streams.get(keyOfStream({ environmentId, sessionId, name: input.stream }));
  if (stream === undefined) throw new Error("The stream of a message was not looked up.");
  const message = facts.openMessages.get(runId)?.find(({ id }) => id === messageId);
  const status = message === undefined || message.isInterrupted ? "resolved" : "pending";
  return { ...wait, streamId: stream.id, messageId, status };
}

export function performCheckpoint(batch: Batch, change: Change, failure: string | null): OperationOutcome {
  const event =
    failure === null
      ? ({ kind: "checkpoint.ready" } as const)
      : ({ kind: "checkpoint.failed", severity: "warn", message: failure } as const);
  change.events.push(toStoredEvent(event, batch.now, change.execution.attemptNumber));
  if (!liveRun(change).held) return refuse("invalid_state", "The run is suspended already.");
  return OK;
}
